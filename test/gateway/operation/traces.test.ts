import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { expect, it } from 'vitest';
import { readConfig } from '../../../src/app/config/config.ts';
import type { OutboundRequest, SendOutbound } from '../../../src/core/outbound.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { listen } from '../../_support/build-app.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import type { ScriptStep } from '../../_support/scripted-model.ts';
import { openAiPeer } from '../../_support/tool-using-peers.ts';
import { httpPeer, textResult, toolOf } from '../../tools/mcp/scripted-peer.ts';
import { scriptedSend } from '../../tools/scripted-send.ts';
import { askPlainly, bankAnswers, bankGateway, decide } from '../approvals/approval-fixture.ts';
import { answerOf, documentOf, gatewayOf, serverOf } from '../gateway.ts';
import type { Gateway, GatewayOptions } from '../gateway.ts';

const collector = 'http://collector.test';
const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: collector, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' };
const taken = { [`${collector}/v1/traces`]: answerOf('{}'), [`${collector}/v1/metrics`]: answerOf('{}') };
const usage: ScriptStep = { type: 'usage', usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 } };
const order = { type: 'object', properties: { item: { type: 'string' } } };
const shop = serverOf('shop', documentOf({ order }));
const incoming = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', tracestate: 'vendor=1' };
const unsampled = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00' };

interface SentSpan {
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  kind: number;
  status: { code?: number; message?: string };
  attributes: Record<string, unknown>;
}

type Attribute = { key: string; value: Record<string, unknown> };

function tracedGateway({ answers, environment: more, ...options }: GatewayOptions): Promise<Gateway> {
  return gatewayOf({ ...options, answers: { ...taken, ...answers }, environment: { ...environment, ...more } });
}

/** A chat that orders tea. */
function shopping(options: GatewayOptions = {}): Promise<Gateway> {
  const turns = [
    [usage, ...calls(['order', { item: 'tea' }])],
    [usage, ...says('Ordered.')],
  ];
  return tracedGateway({ turns, servers: [shop], answers: { 'http://shop.test/order': answerOf('{"ok":true}') }, ...options });
}

async function chat(gateway: Gateway, headers: Record<string, string> = {}, body: JsonObject = {}): Promise<void> {
  const messages = [{ role: 'user', content: 'Order tea, please.' }];
  const payload = { model: 'model', messages, params: { function_calling: 'native' }, ...body };
  const response = await gateway.app.server.inject({
    method: 'POST',
    url: '/v1/chat/completions',
    headers: { host: '127.0.0.1:8080', ...headers },
    payload,
  });
  expect(response.statusCode).toBe(200);
}

/** What the collector gets until the gateway has closed. */
async function exported({ app, sent }: Gateway, signal: 'traces' | 'metrics'): Promise<JsonObject[]> {
  await app.close();
  return sent.filter(({ url }) => url === `${collector}/v1/${signal}`).map(bodyOf);
}

function bodyOf({ body }: OutboundRequest): JsonObject {
  return JSON.parse(Buffer.from(body as Uint8Array).toString()) as JsonObject;
}

async function spansOf(gateway: Gateway): Promise<SentSpan[]> {
  const bodies = (await exported(gateway, 'traces')) as unknown as { resourceSpans: { scopeSpans: { spans: SentSpan[] }[] }[] }[];
  const spans = bodies.flatMap(({ resourceSpans }) =>
    resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)),
  );
  return spans.map((span) => ({ ...span, attributes: readAttributes(span.attributes as unknown as Attribute[]) }));
}

function readAttributes(attributes: readonly Attribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}

function named(spans: readonly SentSpan[], name: string): SentSpan {
  const found = spans.find((span) => span.name === name);
  if (found === undefined) throw new Error(`There is no span ${name} among ${spans.map((span) => span.name).join(', ')}`);
  return found;
}

it('makes a span of the request, the agent, each model request and each call, one below the other', async () => {
  const gateway = await shopping();
  await chat(gateway, incoming);
  const spans = await spansOf(gateway);
  const server = named(spans, 'POST /v1/chat/completions');
  const agent = named(spans, 'invoke_agent toolwharf');
  const tool = named(spans, 'execute_tool order');
  const chats = spans.filter(({ name }) => name === 'chat model');
  expect(spans).toHaveLength(5);
  expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set(['0af7651916cd43dd8448eb211c80319c']));
  expect(server).toMatchObject({ parentSpanId: 'b7ad6b7169203331', kind: 2 });
  expect(server.attributes).toMatchObject({ 'http.route': '/v1/chat/completions', 'http.response.status_code': 200 });
  expect(agent.parentSpanId).toBe(server.spanId);
  expect(agent.attributes).toMatchObject({ 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.usage.input_tokens': 14 });
  expect([...chats, tool].map(({ parentSpanId }) => parentSpanId)).toEqual([agent.spanId, agent.spanId, agent.spanId]);
  expect(chats[0]?.attributes).toMatchObject({ 'gen_ai.operation.name': 'chat', 'gen_ai.usage.output_tokens': 3 });
  expect(tool.attributes).toMatchObject({ 'gen_ai.tool.name': 'order', 'toolwharf.tool.server': 'shop' });
});

it('sends requests to tool servers and backends below the span that makes them', async () => {
  const { environment: llm, answers } = openAiPeer();
  const now = documentOf({ now: { type: 'object', properties: {} } });
  const gateway = await gatewayOf({
    servers: [serverOf('clock', now)],
    answers: { ...answers, ...taken, 'http://clock.test/now': answerOf('"noon"') },
    environment,
    entries: [...readConfig(llm, () => undefined).backends],
  });
  await chat(gateway, incoming, { model: 'm' });
  const spans = await spansOf(gateway);
  const traceOf = (url: string) => gateway.sent.filter((request) => request.url === url).map(({ trace }) => trace);
  const below = ({ traceId, spanId }: SentSpan) => ({ traceparent: `00-${traceId}-${spanId}-01`, tracestate: 'vendor=1' });
  expect(traceOf('http://clock.test/now')).toEqual([below(named(spans, 'execute_tool now'))]);
  const chats = spans.filter(({ name }) => name === 'chat m');
  expect(traceOf('http://llm.test/v1/chat/completions')).toEqual(chats.map(below));
  expect(chats[0]?.attributes).toMatchObject({ 'gen_ai.provider.name': 'openai' });
});

it('passes an unsampled trace on, and exports nothing of it', async () => {
  const gateway = await shopping();
  await chat(gateway, unsampled);
  expect(await spansOf(gateway)).toEqual([]);
  const [{ trace } = {}] = gateway.sent.filter(({ url }) => url === 'http://shop.test/order');
  expect(trace?.traceparent).toMatch(/^00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-00$/);
});

it('samples a part of the traces by their id, whole ones only', async () => {
  const gateway = await shopping({
    turns: Array.from({ length: 4 }, () => says('Hello.')),
    environment: { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.5' },
  });
  const idOf = (first: string) => `${first}000000000000000000000000000001`;
  for (const first of ['10', '30', 'b0', 'f0']) await chat(gateway, { traceparent: `00-${idOf(first)}-b7ad6b7169203331-01` });
  const spans = await spansOf(gateway);
  const byTrace = Object.groupBy(spans, ({ traceId }) => traceId);
  expect(Object.keys(byTrace)).toEqual([idOf('10'), idOf('30')]);
  for (const trace of Object.values(byTrace)) expect(trace).toHaveLength(3);
});

it('shows what was said only if it is told to', async () => {
  const without = await shopping();
  await chat(without);
  expect(JSON.stringify(await exported(without, 'traces'))).not.toContain('tea');
  const gateway = await shopping({ environment: { OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true' } });
  await chat(gateway);
  const spans = await spansOf(gateway);
  const { attributes } = named(spans, 'chat model');
  expect(JSON.parse(String(attributes['gen_ai.input.messages']))).toContainEqual({
    role: 'user',
    parts: [{ type: 'text', content: 'Order tea, please.' }],
  });
  expect(String(attributes['gen_ai.output.messages'])).toContain('tool_call');
  expect(named(spans, 'execute_tool order').attributes).toMatchObject({
    'gen_ai.tool.call.arguments': '{"item":"tea"}',
    'gen_ai.tool.call.result': '{"ok":true}',
  });
});

it('marks what failed with its code, and repeats no message', async () => {
  const gateway = await shopping({ answers: { 'http://shop.test/order': answerOf('{"secret":"words"}', { status: 500 }) } });
  await chat(gateway);
  const tool = named(await spansOf(gateway), 'execute_tool order');
  expect(tool.status).toEqual({ code: 2 });
  expect(tool.attributes).toMatchObject({ 'error.type': 'tool_error' });
  expect(JSON.stringify(tool)).not.toContain('words');
});

it('names the preset that answers, and the one that is called as a tool', async () => {
  const turns = [calls(['helper', { request: 'Order.' }]), says('Helped.'), says('Done.')];
  const gateway = await tracedGateway({ turns });
  for (const payload of [
    { id: 'helper', base_model: 'model', description: 'Helps' },
    { id: 'boss', base_model: 'model', tools: ['preset:helper'] },
  ]) {
    const headers = { host: '127.0.0.1:8080' };
    const { statusCode } = await gateway.app.server.inject({ method: 'POST', url: '/api/presets', headers, payload });
    expect(statusCode).toBeLessThan(300);
  }
  await chat(gateway, {}, { model: 'boss' });
  const spans = await spansOf(gateway);
  const boss = named(spans, 'invoke_agent boss');
  const call = spans.find(({ name }) => name.startsWith('execute_tool '));
  const helper = named(spans, 'invoke_agent helper');
  expect(call?.parentSpanId).toBe(boss.spanId);
  expect(helper.parentSpanId).toBe(call?.spanId);
  const parents = spans.filter(({ name }) => name === 'chat model').map(({ parentSpanId }) => parentSpanId);
  expect(parents).toEqual([boss.spanId, helper.spanId, boss.spanId]);
});

it('counts tokens and durations of unsampled chats too', async () => {
  const gateway = await shopping();
  await chat(gateway, unsampled);
  const [body] = (await exported(gateway, 'metrics')) as unknown as MetricsBody[];
  const metrics = body?.resourceMetrics[0]?.scopeMetrics[0]?.metrics ?? [];
  expect(metrics.map(({ name }) => name).toSorted()).toEqual(['gen_ai.client.operation.duration', 'gen_ai.client.token.usage']);
  const tokens = metrics.find(({ name }) => name === 'gen_ai.client.token.usage')?.histogram.dataPoints ?? [];
  expect(tokens.map(({ attributes, sum }) => [readAttributes(attributes)['gen_ai.token.type'], sum])).toEqual([
    ['input', 14],
    ['output', 6],
  ]);
});

interface MetricsBody {
  resourceMetrics: {
    scopeMetrics: { metrics: { name: string; histogram: { dataPoints: { attributes: Attribute[]; sum: number }[] } }[] }[];
  }[];
}

it('answers chats while the collector is down, and says it once', async () => {
  const gateway = await shopping({
    answers: {
      [`${collector}/v1/traces`]: answerOf('no', { status: 400 }),
      [`${collector}/v1/metrics`]: answerOf('{}'),
      'http://shop.test/order': answerOf('{}'),
    },
  });
  await chat(gateway);
  await gateway.app.close();
  const lines = gateway.app.logLines.filter((line) => line.includes('collector'));
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain('The collector answered with status 400.');
});

it('sends protobuf by default, with the headers of the collector', async () => {
  const gateway = await shopping({
    environment: { OTEL_EXPORTER_OTLP_PROTOCOL: '', OTEL_EXPORTER_OTLP_HEADERS: 'x-key=a%20b', OTEL_SERVICE_NAME: 'front-door' },
  });
  await chat(gateway);
  await gateway.app.close();
  const [request] = gateway.sent.filter(({ url }) => url === `${collector}/v1/traces`);
  expect(request?.headers).toEqual({ 'x-key': 'a b', 'content-type': 'application/x-protobuf' });
  expect(Buffer.from(request?.body as Uint8Array).toString('latin1')).toContain('front-door');
});

it('traces a single function that is invoked', async () => {
  const gateway = await shopping();
  const payload = { arguments: { item: 'tea' } };
  const headers = { host: '127.0.0.1:8080', ...incoming };
  await gateway.app.server.inject({ method: 'POST', url: '/api/tools/shop/order/invoke', headers, payload });
  const spans = await spansOf(gateway);
  const tool = named(spans, 'execute_tool order');
  expect(spans.find(({ spanId }) => spanId === tool.parentSpanId)).toMatchObject({ kind: 2, parentSpanId: 'b7ad6b7169203331' });
});

it('continues the trace of an MCP client by `_meta`, and passes it on to MCP servers', async () => {
  const metas: unknown[] = [];
  const peer = httpPeer([toolOf('look')], (_name, _args, { mcpReq }) => {
    metas.push(mcpReq._meta);
    return textResult('seen');
  });
  const collected = scriptedSend(taken);
  const send: SendOutbound = (request) => (request.url.startsWith(collector) ? collected.send(request) : peer.send(request));
  const gateway = await gatewayOf({ environment, send, backends: [] });
  const payload = { id: 'peer', type: 'mcp', url: 'http://peer.test/mcp' };
  const headers = { host: '127.0.0.1:8080' };
  await gateway.app.server.inject({ method: 'POST', url: '/api/tool-servers', headers, payload });
  const client = new Client({ name: 'tester', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${await listen(gateway.app)}/mcp`)));
  await client.callTool({ name: 'look', arguments: {}, _meta: incoming });
  await client.close();
  const tool = named(await spansOf({ ...gateway, sent: collected.requests }), 'execute_tool look');
  expect(tool).toMatchObject({ parentSpanId: 'b7ad6b7169203331', attributes: { 'mcp.method.name': 'tools/call' } });
  expect(metas).toMatchObject([{ traceparent: `00-${tool.traceId}-${tool.spanId}-01`, tracestate: 'vendor=1' }]);
});

it('traces a call that was approved later below the request that decided', async () => {
  const turns = [calls(['pay', { amount: 5 }]), says('Paid.')];
  const gateway = await bankGateway({ turns, answers: { ...taken, ...bankAnswers }, environment });
  const asked = await askPlainly(gateway);
  await decide(gateway, asked);
  const spans = await spansOf(gateway);
  const decision = spans.find(({ name }) => name.startsWith('POST /api/runs/'));
  const agents = spans.filter(({ name }) => name === 'invoke_agent toolwharf');
  const resumed = agents.find(({ parentSpanId }) => parentSpanId === decision?.spanId);
  expect(agents.map(({ attributes }) => attributes['toolwharf.run.status'])).toEqual(['waiting', 'completed']);
  const paid = spans.findLast(({ name }) => name === 'execute_tool pay');
  expect(paid?.parentSpanId).toBe(resumed?.spanId);
  const [{ trace } = {}] = gateway.sent.filter(({ url }) => url === 'http://bank.test/pay');
  expect(trace?.traceparent).toContain(paid?.spanId);
});

it('makes no span of health checks', async () => {
  const gateway = await shopping();
  await gateway.get('/health');
  await gateway.get('/ready');
  expect(await spansOf(gateway)).toEqual([]);
});
