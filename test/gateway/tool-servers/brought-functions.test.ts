import { expect, it, onTestFinished } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { backendOf, listen, testApp } from '../../_support/build-app.ts';
import { calls, says, ScriptedModel } from '../../_support/scripted-model.ts';
import { documentOf, gatewayOf, serverOf } from '../gateway.ts';
import type { Gateway, GatewayOptions } from '../gateway.ts';

const parameters = { type: 'object', properties: { item: { type: 'string', description: 'What' } }, required: ['item'] };
const shop = serverOf('shop', documentOf({ price: parameters, stock: parameters }));

async function shopGateway(turns: GatewayOptions['turns'] = [says('Hm.')]): Promise<Gateway> {
  const gateway = await gatewayOf({ turns, servers: [shop], answers: { 'http://shop.test/price': { euros: 7 } } });
  onTestFinished(() => gateway[Symbol.asyncDispose]());
  return gateway;
}

interface McpTool {
  name: string;
  description: string;
  inputSchema: JsonObject;
}

/** What a client gets from the gateway's own `/mcp`. */
async function listOverMcp({ app }: Gateway): Promise<McpTool[]> {
  const answer = await app.server.inject({
    method: 'POST',
    url: '/mcp',
    headers: { host: '127.0.0.1:8080', accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-11-25' },
    payload: { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} },
  });
  const data = answer.body.startsWith('{') ? answer.body : (/^data: (\{.*)$/m.exec(answer.body)?.[1] ?? '');
  return (JSON.parse(data) as { result: { tools: McpTool[] } }).result.tools;
}

const toFunction = ({ name, description, inputSchema }: McpTool): JsonObject => ({
  type: 'function',
  function: { name, description, parameters: inputSchema },
});

const offered = ({ model }: Gateway): { own: string[]; brought: unknown[] } => {
  const [request] = model.requests;
  return {
    own: request?.tools.map(({ name }) => name) ?? [],
    brought: request?.callerTools.map((tool) => (tool['function'] as JsonObject)['name']) ?? [],
  };
};

it.each<[what: string, change: (tool: McpTool) => McpTool]>([
  ['as they are', (tool) => tool],
  ['with the name of the server before theirs', (tool) => ({ ...tool, name: `mcp__toolwharf__${tool.name}` })],
  [
    'with a schema that the client has converted',
    (tool) => ({
      ...tool,
      inputSchema: { $schema: 'https://json-schema.org/draft-07/schema#', ...tool.inputSchema, additionalProperties: false },
    }),
  ],
])('functions that a client has from /mcp are offered once: %s', async (_what, change) => {
  const gateway = await shopGateway();
  const tools = (await listOverMcp(gateway)).filter(({ name }) => name === 'price' || name === 'stock').map(change);
  await gateway.ask({ tools: tools.map(toFunction) });
  const seen = offered(gateway);
  expect(seen.brought).toEqual(tools.map(({ name }) => name));
  expect(seen.own.filter((name) => /price|stock/.test(name))).toEqual([]);
});

it('those that the client does not bring stay, and its calls come back to it', async () => {
  const gateway = await shopGateway([calls(['price', { item: 'tea' }])]);
  const tools = (await listOverMcp(gateway)).filter(({ name }) => name === 'price');
  const seen = await gateway.ask({ tools: tools.map(toFunction) });
  expect(offered(gateway).own).toContain('stock');
  expect([seen.finish, gateway.sent]).toEqual([['tool_calls'], []]);
});

it.each<[what: string, tool: McpTool]>([
  [
    'with other parameters',
    { name: 'price', description: 'price', inputSchema: { type: 'object', properties: { code: { type: 'string' } } } },
  ],
  ['with another purpose', { name: 'price', description: 'Of last year', inputSchema: parameters }],
  ['with a longer name and another purpose', { name: 'old_price', description: 'Of last year', inputSchema: parameters }],
])('a function of the client %s is another one', async (_what, tool) => {
  const gateway = await shopGateway();
  await gateway.ask({ tools: [toFunction(tool)] });
  expect(offered(gateway).own.filter((name) => name.includes('price'))).toHaveLength(1);
});

it.each<[route: string, body: (url: string) => JsonObject]>([
  [
    '/v1/responses',
    (url) => ({ input: 'Hi!', tools: [{ type: 'mcp', server_label: 'mine', server_url: url, require_approval: 'never' }] }),
  ],
  [
    '/v1/messages',
    (url) => ({ max_tokens: 9, messages: [{ role: 'user', content: 'Hi!' }], mcp_servers: [{ type: 'url', name: 'mine', url }] }),
  ],
])("the gateway's own /mcp as a server of a request to %s offers nothing twice", async (route, body) => {
  const model = new ScriptedModel(says('Hm.'));
  const app = await testApp({ TOOLWHARF_DEMO: 'false' }, { backends: [backendOf(model)], config: { toolServers: [shop] } });
  onTestFinished(() => app.close());
  const payload = { model: 'model', ...body(`${await listen(app)}/mcp`) };
  const answer = await app.server.inject({ method: 'POST', url: route, headers: { host: '127.0.0.1:8080' }, payload });
  expect(answer.statusCode).toBe(200);
  expect(answer.json<JsonObject>()['warnings']).toMatchObject([
    { code: 'egress_denied', message: expect.stringContaining('this gateway') },
  ]);
  expect(model.requests[0]?.tools.map(({ name }) => name)).toEqual(['price', 'stock']);
});
