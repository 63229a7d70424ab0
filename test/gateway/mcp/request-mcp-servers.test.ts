import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LightMyRequestResponse } from 'fastify';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { parseToolServerConnection } from '../../../src/storage/tool-server-connection.ts';
import { backendOf, listen, testApp } from '../../_support/build-app.ts';
import type { TestApp } from '../../_support/build-app.ts';
import { connectFakeBrowser } from '../../_support/fake-browser.ts';
import { mcpHttpServer } from '../../_support/mcp-http-server.ts';
import { calls, says, ScriptedModel } from '../../_support/scripted-model.ts';
import type { ScriptStep } from '../../_support/scripted-model.ts';
import { readSeen, selects } from '../gateway.ts';
import { textResult, toolOf } from '../../tools/mcp/scripted-peer.ts';
import { storesIn } from '../approvals/approval-fixture.ts';
import type { Asked } from '../approvals/approval-fixture.ts';

const weather = toolOf('weather', { annotations: { readOnlyHint: true } });
const secrets = { authorization: 'token-secret', headers: { 'x-team': 'header-secret' } };

interface Gateway {
  app: TestApp;
  model: ScriptedModel;
}

type Parts = NonNullable<Parameters<typeof testApp>[1]>;

async function gatewayWith(turns: ScriptStep[][], environment: NodeJS.ProcessEnv = {}, parts: Parts = {}): Promise<Gateway> {
  const model = new ScriptedModel(...turns);
  const app = await testApp({ TOOLWHARF_DEMO: 'false', ...environment }, { backends: [backendOf(model)], ...parts });
  onTestFinished(() => app.close());
  return { app, model };
}

function entryOf(url: string, fields: JsonObject = {}): JsonObject {
  return { type: 'mcp', server_label: 'desk', server_url: url, require_approval: 'never', ...fields };
}

/** The address of a port where nobody listens. */
async function closedPort(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}`;
}

interface Sent {
  status: number;
  raw: string;
  runId: string;
}

async function send({ app }: Gateway, body: JsonObject, key?: string): Promise<Sent> {
  const headers = { host: '127.0.0.1:8080', ...(key !== undefined && { authorization: `Bearer ${key}` }) };
  const payload = { model: 'model', messages: [{ role: 'user', content: 'How is the weather?' }], ...body };
  const {
    statusCode,
    body: raw,
    headers: answered,
  } = await app.server.inject({ method: 'POST', url: '/v1/chat/completions', headers, payload });
  return { status: statusCode, raw, runId: String(answered['x-toolwharf-run-id']) };
}

async function ask(gateway: Gateway, body: JsonObject) {
  const { raw, ...sent } = await send(gateway, { stream: true, stream_options: { include_events: true }, ...body });
  return { ...sent, ...readSeen(raw) };
}

async function readRun({ app }: Gateway, runId: string): Promise<string> {
  return (await app.server.inject({ method: 'GET', url: `/api/runs/${runId}`, headers: { host: '127.0.0.1:8080' } })).body;
}

function approve({ app }: Gateway, { run_id: runId, calls: [waiting], token = '' }: Asked['approval']): Promise<LightMyRequestResponse> {
  const url = `/api/runs/${runId}/approvals/${waiting?.id ?? ''}`;
  const headers = { host: '127.0.0.1:8080' };
  return app.server.inject({ method: 'POST', url, headers, payload: { decision: 'approve', token } });
}

describe('an MCP server of a request', () => {
  it('answers in the chat that brings it, under its label, and its secrets go to it alone', async () => {
    const server = await mcpHttpServer([weather], { onCall: () => textResult('Sunny. You sent token-secret and header-secret.') });
    const gateway = await gatewayWith([calls(['weather', {}]), says('It is sunny.')]);
    const seen = await ask(gateway, { tools: [entryOf(`${server.url}?api_key=query-secret`, secrets)] });
    expect(seen.text).toBe('It is sunny.');
    expect(seen.eventsOf('tool.call')).toMatchObject([{ tool: 'weather', server: 'desk' }]);
    expect(seen.sources).toMatchObject([{ source: { name: 'TOOL:desk/weather' } }]);
    expect(gateway.model.requests[0]?.callerTools).toEqual([]);
    const called = server.requests.find(({ rpc }) => rpc === 'tools/call');
    expect(called).toMatchObject({
      headers: { authorization: 'Bearer token-secret', 'x-team': 'header-secret' },
      query: '?api_key=query-secret',
    });
    const shown = [seen.raw, await readRun(gateway, seen.runId), JSON.stringify(gateway.model.requests), gateway.app.logLines.join('\n')];
    expect(shown.join('\n')).not.toMatch(/token-secret|header-secret|query-secret/);
  });

  it.each<[string, ScriptStep[][]]>([
    ['default', [selects(['weather', {}]), says('It is sunny.')]],
    ['react', [says('Thought: I look.\nAction: weather\nAction Input: {}\n'), says('Final Answer: It is sunny.')]],
  ])('works in mode %s', async (mode, turns) => {
    const server = await mcpHttpServer([weather]);
    const seen = await ask(await gatewayWith(turns), { tools: [entryOf(server.url)], params: { function_calling: mode } });
    expect([seen.text, server.calls]).toEqual(['It is sunny.', ['weather']]);
  });

  it('works in a chat over a socket', async () => {
    const server = await mcpHttpServer([weather]);
    const { app } = await gatewayWith([calls(['weather', {}]), says('It is sunny.')]);
    const browser = await connectFakeBrowser({ url: await listen(app) });
    onTestFinished(() => browser.terminate());
    browser.send({ type: 'message', data: { content: 'How is the weather?', model: 'model', tools: [entryOf(server.url)] } });
    expect((await browser.next('assistant_end')).data).toMatchObject({ content: 'It is sunny.' });
    expect(server.calls).toEqual(['weather']);
  });

  it('with many tools is searched', async () => {
    const many = Array.from({ length: 200 }, (_, index) => toolOf(`switch_${index}`, { description: 'Switches a lamp' }));
    const server = await mcpHttpServer([...many, weather]);
    const turns = [calls(['find_tools', { query: 'switch 177' }]), calls(['switch_177', {}]), says('Done.')];
    const seen = await ask(await gatewayWith(turns), { tools: [entryOf(server.url)] });
    expect([seen.text, server.calls]).toEqual(['Done.', ['switch_177']]);
  });

  it('is connected to once in a run, and is told when that is over', async () => {
    const server = await mcpHttpServer([weather], { hasSessions: true });
    const gateway = await gatewayWith([calls(['weather', {}]), calls(['weather', { again: true }]), says('It is sunny.')]);
    await ask(gateway, { tools: [entryOf(server.url, secrets)] });
    await expect.poll(() => server.requests.filter(({ method }) => method === 'DELETE')).toHaveLength(1);
    expect(server.requests.filter(({ rpc }) => rpc === 'initialize')).toHaveLength(1);
    expect(server.calls).toEqual(['weather', 'weather']);
  });

  it('has a function renamed by its label where another one has the name', async () => {
    const [one, two] = [await mcpHttpServer([weather]), await mcpHttpServer([weather])];
    const gateway = await gatewayWith([calls(['second_weather', {}]), says('It is sunny.')]);
    const seen = await ask(gateway, { tools: [entryOf(one.url, { server_label: 'first' }), entryOf(two.url, { server_label: 'second' })] });
    expect(seen.eventsOf('run.start')).toMatchObject([{ functions: ['weather', 'second_weather'] }]);
    expect([one.calls, two.calls]).toEqual([[], ['weather']]);
  });

  it.each<[string, JsonObject | string[], string[]]>([
    ['names', ['pay'], ['pay']],
    ['names in a filter', { tool_names: ['pay', 'weather'] }, ['pay', 'weather']],
    ['a filter for what only reads', { read_only: true }, ['weather']],
    ['a filter for what writes', { read_only: false }, ['pay']],
  ])('offers what allowed_tools lets through: %s', async (_name, allowed, offered) => {
    const server = await mcpHttpServer([weather, toolOf('pay')]);
    const gateway = await gatewayWith([says('Hello.')]);
    await ask(gateway, { tools: [entryOf(server.url, { allowed_tools: allowed })] });
    expect(gateway.model.requests[0]?.tools.map(({ name }) => name).toSorted()).toEqual(offered);
  });

  it('without any allowed tool is left out with a warning', async () => {
    const server = await mcpHttpServer([weather]);
    const seen = await ask(await gatewayWith([says('Hello.')]), { tools: [entryOf(server.url, { allowed_tools: ['pay'] })] });
    expect(seen.text).toBe('Hello.');
    expect(seen.eventsOf('warning')).toMatchObject([
      { code: 'tool_server_empty', message: expect.stringContaining('"desk" (tools.0)') as string },
    ]);
  });
});

describe('an MCP server of a request that cannot be used', () => {
  it('costs its functions, not the chat, and what was sent to it is not repeated', async () => {
    const gateway = await gatewayWith([says('Hello.')]);
    const seen = await ask(gateway, { tools: [entryOf(`${await closedPort()}/mcp?token=query-secret`, secrets)] });
    expect(seen.text).toBe('Hello.');
    expect(seen.eventsOf('warning')).toMatchObject([{ code: 'mcp_unavailable', message: expect.stringContaining('"desk"') as string }]);
    expect(seen.raw).not.toMatch(/-secret/);
  });

  it('has no private address for those who may not reach one', async () => {
    const server = await mcpHttpServer([weather]);
    const key = 'sk-tw-of-an-administrator-0123456789';
    const gateway = await gatewayWith([says('Hello.')], { TOOLWHARF_ADMIN_KEY: key });
    const created = await gateway.app.server.inject({
      method: 'POST',
      url: '/api/keys',
      headers: { host: '127.0.0.1:8080', authorization: `Bearer ${key}` },
      payload: { name: 'somebody', role: 'user' },
    });
    const { raw } = await send(gateway, { tools: [entryOf(server.url)] }, created.json<{ key: string }>().key);
    expect(JSON.parse(raw)).toMatchObject({ warnings: [{ code: 'egress_denied' }], choices: [{ message: { content: 'Hello.' } }] });
    expect(server.requests).toEqual([]);
  });

  it.each<[string, JsonObject[], string, string[]]>([
    ['two of one label', [entryOf('http://a.test'), entryOf('http://b.test')], 'tools.1', ['desk']],
    ['the label of functions', [entryOf('http://a.test', { server_label: 'function' })], 'tools.0', ['function']],
    ['the id of a registered server', [entryOf('http://a.test', { server_label: 'clock' })], 'tools.0', ['clock', 'tool_ids']],
    ['a label with a slash', [entryOf('http://a.test', { server_label: 'a/b' })], 'tools.0', ['letters']],
    ['a connector', [{ type: 'mcp', server_label: 'mail', connector_id: 'connector_gmail' }], 'tools.0.connector_id', ['server_url']],
    ['no address', [{ type: 'mcp', server_label: 'mail' }], 'tools.0.server_url', ['address']],
    ['an address with a password', [entryOf('http://a:b@c.test')], 'tools.0.server_url', ['password']],
    [
      'a typing error in an approval',
      [entryOf('http://a.test', { require_approval: { never: { names: ['a'] } } })],
      'tools.0.require_approval.never',
      ['"names"'],
    ],
    ['too many', Array.from({ length: 17 }, (_, index) => entryOf('http://a.test', { server_label: `s${index}` })), 'tools.16', ['16']],
  ])('is a 400: %s', async (_name, tools, param, words) => {
    const clock = parseToolServerConnection({ id: 'clock', url: 'http://clock.test', spec: { openapi: '3.1.0', paths: {} } }, 'file');
    const gateway = await gatewayWith([], {}, { config: { toolServers: [clock] } });
    const { status, raw } = await send(gateway, { tools });
    const { error } = JSON.parse(raw) as { error: { param: string; message: string } };
    expect([status, error.param]).toEqual([400, param]);
    for (const word of words) expect(error.message).toContain(word);
  });
});

describe('a call of an MCP server of a request that needs an approval', () => {
  it('waits by default, with everything that it needs kept encrypted, and runs once after the decision', async () => {
    const server = await mcpHttpServer([weather], { hasSessions: true });
    const gateway = await gatewayWith([calls(['weather', {}]), says('It is sunny.')]);
    const asked = await send(gateway, { tools: [entryOf(server.url, { require_approval: null, ...secrets })] });
    const { approval } = JSON.parse(asked.raw) as Asked;
    expect(approval.calls).toMatchObject([{ tool: 'weather' }]);
    expect(server.calls).toEqual([]);
    await expect.poll(() => server.requests.filter(({ method }) => method === 'DELETE')).toHaveLength(1);
    expect(asked.raw + (await readRun(gateway, asked.runId))).not.toMatch(/-secret/);
    const decision = await approve(gateway, approval);
    expect(decision.json<JsonObject>()).toMatchObject({ choices: [{ message: { content: 'It is sunny.' } }] });
    expect(server.calls).toEqual(['weather']);
    expect(server.requests.findLast(({ rpc }) => rpc === 'tools/call')?.headers.authorization).toBe('Bearer token-secret');
  });

  it('is only an item in Responses if the client names the server, because it asks its user itself', async () => {
    const server = await mcpHttpServer([weather]);
    const gateway = await gatewayWith([calls(['weather', {}])]);
    const payload = { model: 'model', input: 'How is the weather?', tools: [entryOf(server.url, { require_approval: null })] };
    const asked = await gateway.app.server.inject({ method: 'POST', url: '/v1/responses', headers: { host: '127.0.0.1:8080' }, payload });
    expect(asked.json<{ output: JsonObject[] }>().output.map(({ type }) => type)).toEqual(['mcp_list_tools', 'mcp_approval_request']);
  });

  it('is approved after a restart, and what the server is sent stands in no file', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'toolwharf-mcp-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const server = await mcpHttpServer([weather]);
    const before = storesIn(folder);
    const first = await gatewayWith([calls(['weather', {}])], {}, before);
    const { approval } = JSON.parse(
      (await send(first, { tools: [entryOf(server.url, { require_approval: 'always', ...secrets })] })).raw,
    ) as Asked;
    await first.app.close();
    await before.close();
    const files = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'latin1'));
    expect(files.join('')).not.toMatch(/-secret/);
    const after = storesIn(folder);
    const second = await gatewayWith([says('It is sunny.')], {}, after);
    expect((await approve(second, approval)).json<JsonObject>()).toMatchObject({ choices: [{ message: { content: 'It is sunny.' } }] });
    expect(server.calls).toEqual(['weather']);
    await second.app.close();
    await after.close();
  });

  it.each<[string, JsonObject | string, string[]]>([
    ['all', 'always', ['pay', 'weather']],
    ['none', 'never', []],
    ['all but those named', { never: { tool_names: ['pay'] } }, ['weather']],
    ['all but what only reads', { never: { read_only: true } }, ['pay']],
    ['those named in both', { always: { tool_names: ['pay'] }, never: { tool_names: ['pay', 'weather'] } }, ['pay']],
    ['all, where a filter says nothing', { never: {} }, ['pay', 'weather']],
  ])('is one of these: %s', async (_name, wanted, waiting) => {
    const server = await mcpHttpServer([weather, toolOf('pay')]);
    const gateway = await gatewayWith([calls(['pay', {}], ['weather', {}]), says('Done.')]);
    const { raw } = await send(gateway, { tools: [entryOf(server.url, { require_approval: wanted })] });
    const seen = JSON.parse(raw) as Partial<Asked>;
    const asked = (seen.approval?.calls ?? []).map(({ tool }) => tool).toSorted();
    expect([...new Set([...asked, ...server.calls])].toSorted()).toEqual(['pay', 'weather']);
    expect(asked).toEqual(expect.arrayContaining(waiting));
    expect(server.calls).not.toEqual(expect.arrayContaining(waiting.length === 0 ? ['nothing'] : waiting));
  });
});

describe('a tool_choice that demands an MCP server of the request', () => {
  const mcp = (fields: JsonObject = {}): JsonObject => ({ type: 'mcp', server_label: 'desk', ...fields });
  const named = (name: string): JsonObject => ({ type: 'function', function: { name } });

  async function choose(choice: JsonObject, called: string) {
    const server = await mcpHttpServer([weather, toolOf('pay')]);
    const other = await mcpHttpServer([toolOf('look')]);
    const gateway = await gatewayWith([calls([called, {}]), says('Done.')]);
    const tools = [entryOf(server.url), entryOf(other.url, { server_label: 'other' })];
    const sent = await send(gateway, { tools, tool_choice: choice });
    return { ...sent, asked: gateway.model.requests };
  }

  it('and one of its tools, forces that function', async () => {
    const { asked } = await choose(mcp({ name: 'pay' }), 'pay');
    expect(asked.map(({ toolChoice }) => toolChoice)).toEqual([named('pay'), undefined]);
  });

  it('forces one of its functions, and offers no others', async () => {
    const { asked } = await choose(mcp(), 'weather');
    expect(asked[0]).toMatchObject({ toolChoice: 'required', tools: [{ name: 'weather' }, { name: 'pay' }] });
  });

  it('among those that are allowed', async () => {
    const tools = [mcp({ server_label: 'other' }), mcp({ name: 'pay' })];
    const { asked } = await choose({ type: 'allowed_tools', mode: 'auto', tools }, 'pay');
    expect(asked[0]?.tools.map(({ name }) => name).toSorted()).toEqual(['look', 'pay']);
  });

  it.each([mcp({ server_label: 'nobody' }), mcp({ name: 'nothing' })])('that is not there is a 400', async (choice) => {
    const { status, raw } = await choose(choice, 'pay');
    expect([status, JSON.parse(raw)]).toMatchObject([
      400,
      { error: { param: 'tool_choice', message: expect.stringContaining('there is no function') as string } },
    ]);
  });
});
