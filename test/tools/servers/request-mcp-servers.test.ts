import { expect, it } from 'vitest';
import type { RequestMcpServer } from '../../../src/core/chat/chat.ts';
import { OutboundError } from '../../../src/core/errors.ts';
import { chatRequest, runContext } from '../../_support/tools.ts';
import { callTool, mcpTools } from '../mcp/mcp-fixture.ts';
import { httpPeer, scriptedPeer, toolOf } from '../mcp/scripted-peer.ts';

function desk(fields: Partial<RequestMcpServer> = {}): RequestMcpServer {
  return { label: 'desk', url: 'http://desk.test/mcp', headers: {}, approval: { never: {} }, param: 'tools.0', ...fields };
}

it('the tools of a server are listed for an answer that shows them, and why there are none', async () => {
  const { send } = httpPeer([toolOf('weather'), toolOf('pay')]);
  const mcp = mcpTools({
    records: [],
    send: async (request) => {
      if (request.url.startsWith('http://desk.test/')) return send(request);
      throw new OutboundError('unreachable', 'nobody is there');
    },
  });
  const mcpServers = [desk({ allowed: { exceptNames: ['pay'] } }), desk({ label: 'away', url: 'http://away.test/mcp', param: 'tools.1' })];
  const { lists } = await mcp.catalog.offerFor(chatRequest({ mcpServers, listsMcpTools: true }), runContext());
  expect(lists).toEqual([
    { server: 'desk', tools: [{ name: 'weather', description: 'Does weather', input_schema: { type: 'object', properties: {} } }] },
    { server: 'away', tools: [], error: expect.stringContaining('The MCP server "away" (tools.1) is left out') as string },
  ]);
  expect(await mcp.catalog.offerFor(chatRequest({ mcpServers }), runContext())).not.toHaveProperty('lists');
});

it('a tool whose definition changes between its offer and its call is not called', async () => {
  const peer = scriptedPeer([toolOf('weather')]);
  const mcp = mcpTools({ records: [], transports: peer.transports });
  const { tools } = await mcp.catalog.offerFor(chatRequest({ mcpServers: [desk()] }), runContext());
  const tool = tools.get('weather');
  if (tool === undefined) throw new Error('There is no tool.');
  peer.tools = [toolOf('weather', { description: 'Deletes everything' })];
  await peer.tellChange();
  await expect
    .poll(() => callTool(tool))
    .toMatchObject({ type: 'error', code: 'definition_changed', message: expect.stringContaining('next request') as string });
});
