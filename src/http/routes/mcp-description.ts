import { z } from 'zod';
import type { RouteDescriptions } from '../description/route-description.ts';

const message = z.looseObject({ jsonrpc: z.literal('2.0') }).describe('A message of JSON-RPC 2.0.');
const answers = {
  200: { about: 'The answer of the protocol.', content: { 'application/json': message, 'text/event-stream': z.string() } },
};

export const mcpDescriptions: RouteDescriptions = {
  'POST /mcp': {
    tag: 'Tools',
    summary: 'The same functions for MCP clients',
    description: 'Streamable HTTP without sessions. Lists and calls every function that the key may use.',
    body: { schema: message.extend({ method: z.string() }), example: { jsonrpc: '2.0', id: 1, method: 'tools/list' } },
    // Whatever the protocol says: a message without an id has no answer, and an unknown version is an error of JSON-RPC.
    answers: { ...answers, 202: { about: 'A notification was taken.' } },
  },
  'GET /mcp': {
    tag: 'Tools',
    summary: 'The stream of an MCP server',
    description: 'There are no sessions, so there is nothing to listen to.',
    answers: { 405: { about: 'Always.', content: { 'application/json': message } } },
  },
  'DELETE /mcp': {
    tag: 'Tools',
    summary: 'The end of an MCP session',
    description: 'There are no sessions to end.',
    answers: { 405: { about: 'Always.', content: { 'application/json': message } } },
  },
};
