import { z } from 'zod';
import type { RouteDescriptions } from '../../description/route-description.ts';
import { errorShape, serverSentEvent } from '../../description/shared-schemas.ts';

const message = z.looseObject({ jsonrpc: z.literal('2.0') }).describe('A message of JSON-RPC 2.0.');
const answers = {
  200: { about: 'The answer of the protocol.', content: { 'application/json': message, 'text/event-stream': serverSentEvent } },
};

/** Of the gateway before the protocol, and of the protocol. */
const errors = z.union([errorShape, message]);

const noSession = { about: 'This key has no such session.', content: { 'application/json': message } };

export const mcpDescriptions = {
  'POST /mcp': {
    tag: 'Tools',
    summary: 'The same functions for MCP clients',
    errors,
    description:
      'Streamable HTTP. Lists and calls every function that the key may use, and gives the resources and prompts of the MCP servers. Clients that can be asked get a session.',
    body: { schema: message.extend({ method: z.string().optional() }), example: { jsonrpc: '2.0', id: 1, method: 'tools/list' } },
    // Whatever the protocol says: a message without an id has no answer, and an unknown version is an error of JSON-RPC.
    answers: { ...answers, 202: { about: 'A notification, or the answer to a question, was taken.' }, 404: noSession },
  },
  'GET /mcp': {
    tag: 'Tools',
    summary: 'Changes of the lists of functions, resources and prompts',
    errors,
    description: 'A stream of notifications, for clients of the MCP versions of 2025. It lasts until either side ends it.',
    answers: {
      200: { about: 'The stream.', content: { 'text/event-stream': serverSentEvent } },
      404: noSession,
      405: {
        about: 'The request does not accept an event stream, or the key has too many open streams.',
        content: { 'application/json': message },
      },
    },
  },
  'DELETE /mcp': {
    tag: 'Tools',
    summary: 'The end of an MCP session',
    errors,
    description: 'Ends the session that the header `mcp-session-id` names.',
    answers: {
      200: { about: 'It has ended.' },
      404: noSession,
      405: { about: 'The request names no session.', content: { 'application/json': message } },
    },
  },
} satisfies RouteDescriptions;
