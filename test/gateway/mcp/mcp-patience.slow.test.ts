import { acceptedContent, inputRequired } from '@modelcontextprotocol/server';
import { expect, it } from 'vitest';
import { callTool, mcpTools, requireTool } from '../../tools/mcp/mcp-fixture.ts';
import { httpPeer, textResult, toolOf } from '../../tools/mcp/scripted-peer.ts';
import { mcpCutGraceMs } from '../../../src/tools/mcp/incoming-messages.ts';

it('a user may think longer than the stream lasts in which the server asked', async () => {
  const requestedSchema = { type: 'object' as const, properties: { city: { type: 'string' as const } } };
  const { send } = httpPeer(
    [toolOf('ask')],
    (_name, _args, { mcpReq }) => {
      const given = acceptedContent(mcpReq.inputResponses, 'place');
      if (given !== undefined) return textResult(String(given['city']));
      return inputRequired({ inputRequests: { place: inputRequired.elicit({ message: 'Which city?', requestedSchema }) } });
    },
    'sse',
  );
  const tool = await requireTool(mcpTools({ send }), 'ask');
  const { promise: thought, resolve } = Promise.withResolvers<{ city: string }>();
  setTimeout(() => resolve({ city: 'Osaka' }), 2 * mcpCutGraceMs);
  const outcome = await callTool(tool, { run: { sessionId: 'session-1' }, context: { ask: () => thought } });
  expect(outcome).toEqual({ type: 'result', value: 'Osaka' });
});
