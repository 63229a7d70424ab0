import { expect, it } from 'vitest';
import { parseToolServerConnections } from '../../../src/storage/tool-server-connection.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { listen } from '../../_support/build-app.ts';
import { connectFakeBrowser } from '../../_support/fake-browser.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import { httpPeer, textResult, toolOf } from '../../tools/mcp/scripted-peer.ts';
import { scriptedSend } from '../../tools/scripted-send.ts';
import { functionGateway } from '../functions/function-gateway.ts';
import { documentOf, gatewayOf, readSeen, serverOf } from '../gateway.ts';

const code = `
import { defineTool } from 'toolwharf';
export default defineTool({ name: 'add', description: 'Adds', parameters: { type: 'object', properties: {} }, execute: () => 'from this process' });
`;

it('functions of an OpenAPI server, an MCP server, this process, a preset and the browser are called in one turn, and the loop treats them alike [S0-11]', async () => {
  const peer = httpPeer([toolOf('search')], () => textResult('from the MCP server'));
  const script = scriptedSend({ 'http://lab.test/measure': { from: 'the OpenAPI server' } });
  const [mcp] = parseToolServerConnections([{ id: 'peer', type: 'mcp', url: 'http://peer.test/mcp' }], 'file');
  const turns = [
    calls(['measure', {}], ['search', {}], ['add', {}], ['helper', { request: 'Say something.' }], ['read_page', {}]),
    says('from the preset'),
    says('All five have answered.'),
  ];
  await using gateway = await functionGateway(
    { 'add.mjs': code },
    {
      turns,
      servers: [serverOf('lab', documentOf({ measure: { type: 'object', properties: {} } })), ...(mcp === undefined ? [] : [mcp])],
      send: (request) => (request.url.startsWith('http://peer.test/') ? peer.send(request) : script.send(request)),
    },
  );
  const url = await listen(gateway.app);
  const headers = { 'content-type': 'application/json', 'x-api-key': gateway.app.startKey ?? '' };
  const ask = (path: string, body: object): Promise<Response> =>
    fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  await ask('/api/presets', { id: 'helper', base_model: 'model', tools: [] });
  const browser = await connectFakeBrowser({ url, onExecuteTool: () => 'from the browser' });
  const response = await ask('/v1/chat/completions', {
    model: 'model',
    messages: [{ role: 'user', content: 'Ask everybody.' }],
    session_id: browser.sessionId(),
    tool_ids: ['server:lab', 'server:mcp:peer', 'function:add', 'preset:helper'],
    tool_servers: [
      { url: 'http://page.test', specs: [{ name: 'read_page', description: 'Reads', parameters: { type: 'object', properties: {} } }] },
    ],
    stream: true,
    stream_options: { include_events: true },
  });
  const seen = readSeen(await response.text());
  expect(seen.text).toBe('All five have answered.');
  const results = gateway.model.requests.at(-1)?.messages.flatMap((message) => (message.role === 'tool' ? [message.content] : []));
  expect(results).toEqual([
    expect.stringContaining('the OpenAPI server'),
    'from the MCP server',
    'from this process',
    'from the preset',
    'from the browser',
  ]);
  expect(seen.eventsOf('tool.result').filter((data) => data['error'] !== undefined)).toEqual([]);
  expect(seen.sources).toHaveLength(5);
  await browser.close();
});

it('a required argument that a model leaves out gets its default everywhere, an optional one is left to tool servers and pages [S0-10]', async () => {
  const parameters: JsonObject = {
    type: 'object',
    properties: { size: { type: 'string', default: 'small' }, colour: { type: 'string', default: 'red' } },
    required: ['size'],
  };
  const received: Record<string, unknown> = {};
  const peer = httpPeer([toolOf('search', { inputSchema: parameters as never })], (name, args) => {
    received[name] = args;
    return textResult('done');
  });
  const script = scriptedSend({ 'http://lab.test/measure': { done: true } });
  const [mcp] = parseToolServerConnections([{ id: 'peer', type: 'mcp', url: 'http://peer.test/mcp' }], 'file');
  const turns = [calls(['measure', {}], ['search', {}], ['read_page', {}]), says('Done.')];
  await using gateway = await gatewayOf({
    turns,
    servers: [serverOf('lab', documentOf({ measure: parameters })), ...(mcp === undefined ? [] : [mcp])],
    send: (request) => (request.url.startsWith('http://peer.test/') ? peer.send(request) : script.send(request)),
  });
  const url = await listen(gateway.app);
  const browser = await connectFakeBrowser({
    url,
    onExecuteTool({ name, params }) {
      received[String(name)] = params;
      return 'done';
    },
  });
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'model',
      messages: [{ role: 'user', content: 'Go.' }],
      session_id: browser.sessionId(),
      tool_servers: [{ url: 'http://page.test', specs: [{ name: 'read_page', description: 'Reads', parameters }] }],
    }),
  });
  expect(await response.json()).toMatchObject({ choices: [{ message: { content: 'Done.' } }] });
  const [sent] = script.requests;
  expect({ ...received, measure: JSON.parse(String(sent?.body)) as unknown }).toEqual({
    measure: { size: 'small' },
    search: { size: 'small' },
    read_page: { size: 'small' },
  });
  await browser.close();
});
