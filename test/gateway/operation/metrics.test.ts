import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { GatewayError } from '../../../src/core/errors.ts';
import { createPrometheusMetrics } from '../../../src/observability/prometheus-metrics.ts';
import { testApp } from '../../_support/build-app.ts';
import type { TestApp } from '../../_support/build-app.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import type { ScriptStep } from '../../_support/scripted-model.ts';
import { answerOf, documentOf, gatewayOf, selects, serverOf } from '../gateway.ts';

const usage: ScriptStep = { type: 'usage', usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 } };
const order = { type: 'object', properties: { item: { type: 'string' } } };
const host = { host: '127.0.0.1:8080' };

/** The lines of the metrics of the gateway itself, without help and buckets. */
async function scrape({ server }: TestApp): Promise<string[]> {
  const { body } = await server.inject({ url: '/metrics', headers: host });
  return body.split('\n').filter((line) => line.startsWith('toolwharf_') && !line.includes('_bucket{'));
}

it('a chat with a tool call counts as a run, its rounds, its tokens and the call', async () => {
  const servers = [serverOf('shop', documentOf({ order }))];
  const turns = [
    [usage, ...calls(['order', { item: 'tea' }], ['nothing', {}])],
    [usage, ...says('Ordered.')],
  ];
  await using gateway = await gatewayOf({ turns, servers, answers: { 'http://shop.test/order': answerOf('{}') } });
  await gateway.ask({ params: { function_calling: 'native' } });
  const lines = await scrape(gateway.app);
  expect(lines).toEqual(
    expect.arrayContaining([
      'toolwharf_http_requests_total{method="POST",route="/v1/chat/completions",status="200"} 1',
      'toolwharf_runs_total{outcome="completed"} 1',
      'toolwharf_run_duration_seconds_count 1',
      'toolwharf_model_requests_total{model="model"} 2',
      'toolwharf_tokens_total{model="model",kind="prompt"} 14',
      'toolwharf_tokens_total{model="model",kind="completion"} 6',
      'toolwharf_time_to_first_token_seconds_count{model="model"} 1',
      'toolwharf_tool_calls_total{server="shop",function="order",outcome="ok"} 1',
      'toolwharf_tool_call_duration_seconds_count{server="shop"} 1',
      'toolwharf_active_runs 0',
      'toolwharf_approvals_waiting 0',
      'toolwharf_sessions 0',
      'toolwharf_sockets 0',
    ]),
  );
  expect(lines).toContain('toolwharf_tool_calls_total{server="none",function="",outcome="tool_not_found"} 1');
});

it('a function that is invoked counts as a call; a run that waits, a repair and a fault of the backend are told apart', async () => {
  const servers = [serverOf('shop', documentOf({ order, look_up: order }), { extra: { config: { needs_approval: ['order'] } } })];
  const answers = { 'http://shop.test/look_up': answerOf('{}', { status: 500 }) };
  const failing = new GatewayError('upstream_timeout', 'The backend was silent.');
  const turns = [[...calls(['order', { item: 'tea' }])], selects(['lookup', { item: 'tea' }]), says('Looked.'), [failing]];
  await using gateway = await gatewayOf({ turns, servers, answers });
  await gateway.ask({ params: { function_calling: 'native' } });
  await gateway.ask({ params: { function_calling: 'default' } });
  await gateway.ask({ tool_ids: [] });
  await gateway.ask({ model: 'no such model' });
  await gateway.app.server.inject({
    method: 'POST',
    url: '/api/tools/shop/look_up/invoke',
    headers: host,
    payload: { arguments: { item: 'tea' } },
  });
  await gateway.get('/no/such/path');
  const lines = await scrape(gateway.app);
  expect(lines).toEqual(
    expect.arrayContaining([
      'toolwharf_runs_total{outcome="waiting"} 1',
      'toolwharf_runs_total{outcome="completed"} 1',
      'toolwharf_runs_total{outcome="failed"} 2',
      'toolwharf_approvals_waiting 1',
      'toolwharf_selection_repairs_total 1',
      'toolwharf_upstream_errors_total{code="upstream_timeout"} 1',
      'toolwharf_tool_calls_total{server="shop",function="look_up",outcome="tool_error"} 2',
      'toolwharf_http_requests_total{method="GET",route="none",status="404"} 1',
    ]),
  );
  expect(lines.join('\n')).not.toContain('no such model');
});

it('a call that waited for approval counts for its server when it has run', async () => {
  const servers = [serverOf('shop', documentOf({ order }), { extra: { config: { needs_approval: ['order'] } } })];
  const turns = [[...calls(['order', { item: 'tea' }])], says('Ordered.')];
  await using gateway = await gatewayOf({ turns, servers, answers: { 'http://shop.test/order': answerOf('{}') } });
  const asked = await gateway.ask({ params: { function_calling: 'native' }, stream: false });
  const { approval } = JSON.parse(asked.raw) as { approval: { run_id: string; token: string; calls: [{ id: string }] } };
  const url = `/api/runs/${approval.run_id}/approvals/${approval.calls[0].id}`;
  const payload = { decision: 'approve', token: approval.token };
  await gateway.app.server.inject({ method: 'POST', url, headers: host, payload });
  const lines = await scrape(gateway.app);
  expect(lines.filter((line) => line.startsWith('toolwharf_tool_calls_total'))).toEqual([
    'toolwharf_tool_calls_total{server="shop",function="order",outcome="ok"} 1',
  ]);
});

it.each(['http://93.184.216.34', 'http:93.184.216.34'])('calls of a server that a request supplied count together: %s', async (url) => {
  const document = documentOf({ order });
  const turns = [calls(['order', { item: 'tea' }]), says('Ordered.')];
  await using gateway = await gatewayOf({ turns, answers: { 'http://93.184.216.34/order': answerOf('{}') } });
  await gateway.ask({ tool_servers: [{ url, openapi: document }], params: { function_calling: 'native' } });
  const lines = await scrape(gateway.app);
  expect(lines).toContain('toolwharf_tool_calls_total{server="request",function="",outcome="ok"} 1');
  expect(lines.join('\n')).not.toContain('93.184');
});

it('names of models reach no terminal as control characters', async () => {
  const metrics = createPrometheusMetrics();
  const caller = { id: 'key_1', role: 'user', isOpen: false } as const;
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  metrics.countToolUse({ caller, model: 'a\t\r\u001b[2Jb\u202e\n"c"', usage, estimated: undefined });
  metrics.countCall({ caller, server: 'shop', tool: 'look\u009b', code: undefined, durationMs: 1 });
  const text = await metrics.text();
  expect(text).toContain(String.raw`model="a \\u000d\\u001b[2Jb\\u202e\n\"c\""`);
  expect(text).toContain(String.raw`function="look\\u009b"`);
  // eslint-disable-next-line no-control-regex
  expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
});

it('beyond a hundred models the rest counts as other', async () => {
  const names = Array.from({ length: 105 }, (_, index) => `model-${index}`);
  const metrics = createPrometheusMetrics();
  const caller = { id: 'key_1', role: 'user', isOpen: false } as const;
  const seen = { caller, isResumed: false, toolCalls: 0 };
  const run = {
    ...seen,
    outcome: 'completed',
    code: undefined,
    durationMs: 1,
    firstTokenMs: 1,
    repairedSelections: 0,
    usage: undefined,
    estimated: undefined,
  } as const;
  for (const model of names) metrics.countRun({ ...run, model, modelRequests: 1 });
  const lines = (await metrics.text()).split('\n').filter((line) => line.startsWith('toolwharf_model_requests_total{'));
  expect(lines).toHaveLength(101);
  expect(lines).toContain('toolwharf_model_requests_total{model="other"} 5');
});

it('requests that wait for a connection are counted, and the log says once that all are in use', async () => {
  const held = Promise.withResolvers<void>();
  const arrived = Promise.withResolvers<void>();
  const backend = createServer((request, response) => {
    response.setHeader('content-type', 'application/json');
    if (request.url?.endsWith('/models') === true) return void response.end('{"data":[{"id":"model"}]}');
    arrived.resolve();
    const answer = { choices: [{ index: 0, message: { role: 'assistant', content: 'said' }, finish_reason: 'stop' }] };
    return void held.promise.then(() => response.end(JSON.stringify(answer)));
  }).listen(0, '127.0.0.1');
  await once(backend, 'listening');
  const { port } = backend.address() as AddressInfo;
  await using app = await testApp({
    OPENAI_API_BASE_URL: `http://127.0.0.1:${port}/v1`,
    OLLAMA_BASE_URLS: ';',
    UPSTREAM_MAX_CONNECTIONS: '1',
  });
  const ask = () =>
    app.server.inject({
      method: 'POST',
      url: '/v1/chat/completions',
      headers: host,
      payload: { model: 'model', messages: [{ role: 'user', content: 'hi' }] },
    });
  const waits = async (): Promise<number> => {
    const line = (await scrape(app)).find((entry) => entry.startsWith('toolwharf_connection_waits_total ')) ?? '';
    return Number(line.split(' ')[1]);
  };
  expect(await waits()).toBe(0);
  const first = ask();
  await arrived.promise;
  // Its list of models may have waited for the same connection.
  const before = await waits();
  const others = [ask(), ask(), ask()];
  await expect.poll(waits).toBe(before + 3);
  held.resolve();
  const statuses = (await Promise.all([first, ...others])).map(({ statusCode }) => statusCode);
  expect(statuses).toEqual([200, 200, 200, 200]);
  expect(app.logLines.filter((line) => line.includes('UPSTREAM_MAX_CONNECTIONS'))).toHaveLength(1);
  backend.close();
});

it('administrators and the metrics key may read it, users may not; the metrics key opens nothing else', async () => {
  await using app = await testApp({ TOOLWHARF_ADMIN_KEY: 'sk-tw-admin', METRICS_KEY: 'only-for-the-metrics' }, { backends: [] });
  const payload = { name: 'ada', role: 'user' };
  const made = await app.server.inject({ method: 'POST', url: '/api/keys', headers: { authorization: 'Bearer sk-tw-admin' }, payload });
  const statusOf = async (url: string, key: string): Promise<number> =>
    (await app.server.inject({ url, headers: { ...(key !== '' && { authorization: `Bearer ${key}` }) } })).statusCode;
  expect(await statusOf('/metrics', 'sk-tw-admin')).toBe(200);
  expect(await statusOf('/metrics', 'only-for-the-metrics')).toBe(200);
  expect(await statusOf('/metrics', 'only-for-the-metric')).toBe(401);
  expect(await statusOf('/metrics', made.json().key)).toBe(403);
  expect(await statusOf('/metrics', '')).toBe(401);
  expect(await statusOf('/v1/models', 'only-for-the-metrics')).toBe(401);
});
