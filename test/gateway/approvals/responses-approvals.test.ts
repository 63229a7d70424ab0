import type { LightMyRequestResponse } from 'fastify';
import { describe, expect, it, onTestFinished } from 'vitest';
import { GatewayError } from '../../../src/core/errors.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import type { ScriptStep } from '../../_support/scripted-model.ts';
import type { Gateway } from '../gateway.ts';
import { bankGateway } from './approval-fixture.ts';

const adminKey = 'sk-tw-fixed-administrator';
const pay = { type: 'message', role: 'user', content: 'Pay' };

async function gatewayWith(...turns: ScriptStep[][]): Promise<Gateway> {
  const gateway = await bankGateway({ turns, environment: { TOOLWHARF_ADMIN_KEY: adminKey } });
  onTestFinished(() => gateway[Symbol.asyncDispose]());
  return gateway;
}

interface Asking {
  key?: string;
  /** The caller's own. */
  tools?: JsonObject[];
}

interface Answered {
  status: number;
  body: JsonObject;
  output: JsonObject[];
  error: JsonObject;
}

async function ask({ app }: Gateway, input: JsonObject[], { key = adminKey, tools = [] }: Asking = {}): Promise<Answered> {
  const headers = { authorization: `Bearer ${key}` };
  const response = await app.server.inject({ method: 'POST', url: '/v1/responses', headers, payload: { model: 'model', input, tools } });
  const body = response.json<JsonObject>();
  return { status: response.statusCode, body, output: (body['output'] ?? []) as JsonObject[], error: (body['error'] ?? {}) as JsonObject };
}

const decide = (request: JsonObject | undefined, approve: boolean, more: JsonObject = {}): JsonObject => ({
  type: 'mcp_approval_response',
  approval_request_id: request?.['id'] ?? '',
  approve,
  ...more,
});
const paid = ({ sent }: Gateway): number => sent.filter(({ method }) => method === 'POST').length;

describe('a decision in the next request', () => {
  it('with a field that nobody reads runs nothing, because it may hold the changed arguments', async () => {
    const gateway = await gatewayWith(calls(['pay', { amount: 5 }]), says('Paid.'));
    const [request] = (await ask(gateway, [pay])).output;
    const refused = await ask(gateway, [pay, request ?? {}, decide(request, true, { arguments: '{"amount":3}' })]);
    expect([refused.status, refused.error['message']]).toEqual([400, expect.stringContaining('arguments')]);
    expect(paid(gateway)).toBe(0);
    expect((await ask(gateway, [pay, request ?? {}, decide(request, true, { id: 'mcpr_1', reason: null })])).status).toBe(200);
  });

  it('counts once, and runs nothing twice', async () => {
    const gateway = await gatewayWith(calls(['pay', { amount: 5 }]), says('Paid.'));
    const {
      output: [request],
    } = await ask(gateway, [pay]);
    const input = [pay, request ?? {}, decide(request, true)];
    expect((await ask(gateway, input)).output.map(({ type }) => type)).toEqual(['mcp_call', 'message']);
    expect(await ask(gateway, input)).toMatchObject({
      status: 400,
      error: { code: 'invalid_request', param: 'input.2.approval_request_id', message: expect.stringContaining('already decided') },
    });
    expect(paid(gateway)).toBe(1);
  });

  it('needs nothing of the conversation beside it', async () => {
    const gateway = await gatewayWith(calls(['pay', { amount: 5 }]), says('Paid.'));
    const {
      output: [request],
    } = await ask(gateway, [pay]);
    expect(await ask(gateway, [decide({ id: `mcpr_run_${'a'.repeat(22)}` }, true)])).toMatchObject({
      status: 400,
      error: { param: 'input.0.approval_request_id' },
    });
    expect((await ask(gateway, [decide(request, true)])).output.map(({ type }) => type)).toEqual(['mcp_call', 'message']);
    expect(paid(gateway)).toBe(1);
  });

  it('may be repeated in one request, but not contradicted', async () => {
    const gateway = await gatewayWith(calls(['pay', { amount: 5 }], ['refund', { amount: 2 }]), says('Done.'));
    const {
      output: [first, second],
    } = await ask(gateway, [pay]);
    expect(await ask(gateway, [pay, decide(first, true), decide(second, true), decide(first, false)])).toMatchObject({
      status: 400,
      error: { param: 'input.3.approve' },
    });
    expect(paid(gateway)).toBe(0);
    const { output } = await ask(gateway, [pay, decide(first, true), decide(first, true), decide(second, true)]);
    expect(output.map(({ type }) => type)).toEqual(['mcp_call', 'mcp_call', 'message']);
    expect(paid(gateway)).toBe(2);
  });

  it('is refused for a request that never was, and for one of another caller', async () => {
    const gateway = await gatewayWith(calls(['pay', { amount: 5 }]));
    const created = await gateway.app.server.inject({
      method: 'POST',
      url: '/api/keys',
      headers: { authorization: `Bearer ${adminKey}` },
      payload: { name: 'other', role: 'user' },
    });
    const {
      output: [request],
    } = await ask(gateway, [pay]);
    const other = await ask(gateway, [pay, request ?? {}, decide(request, true)], { key: created.json<{ key: string }>().key });
    expect(other).toMatchObject({ status: 400, error: { param: 'input.2.approval_request_id' } });
    const id = String(request?.['id']);
    for (const wrong of ['mcpr_1', 'none', `${id.slice(0, -1)}${id.endsWith('A') ? 'B' : 'A'}`])
      expect(await ask(gateway, [pay, decide({ id: wrong }, true)])).toMatchObject({ status: 400 });
    expect(paid(gateway)).toBe(0);
  });

  it('leaves other calls waiting, which come back under the same ids', async () => {
    const gateway = await gatewayWith(calls(['pay', { amount: 1 }], ['refund', { amount: 2 }]), says('Done.'));
    const {
      output: [first, second],
      body,
    } = await ask(gateway, [pay]);
    const half = [pay, first ?? {}, second ?? {}, decide(first, true)];
    const still = await ask(gateway, half);
    expect(still).toMatchObject({ status: 200, body: { status: 'completed', approval: { calls: [{ tool: 'refund' }] } } });
    expect(still.output).toEqual([second]);
    expect(still.body['id']).not.toBe(body['id']);
    expect(paid(gateway)).toBe(0);
    const end = await ask(gateway, [...half, ...still.output, decide(second, false, { reason: 'Keep it.' })]);
    expect(end.output).toMatchObject([
      { type: 'mcp_call', name: 'pay', approval_request_id: first?.['id'], arguments: '{"amount":1}', status: 'completed' },
      { type: 'message', content: [{ text: 'Done.' }] },
    ]);
    expect(paid(gateway)).toBe(1);
    expect(JSON.stringify(gateway.model.requests[1]?.messages)).toContain('Keep it.');
  });

  it('also begins calls that waited behind it, which stand once in what clients send back', async () => {
    const weather = { type: 'function', name: 'weather' };
    const gateway = await gatewayWith(calls(['pay', { amount: 1 }], ['look', { account: 'a' }], ['weather', {}]), says('Done.'));
    const { output } = await ask(gateway, [pay], { tools: [weather] });
    expect(output).toMatchObject([{ type: 'mcp_approval_request', name: 'pay' }, { type: 'message' }]);
    const input = [pay, ...output, decide(output[0], true)];
    const second = await ask(gateway, input, { tools: [weather] });
    expect(second.output).toMatchObject([
      { type: 'mcp_call', name: 'pay', status: 'completed' },
      { type: 'mcp_call', name: 'look', status: 'completed' },
      { type: 'function_call', name: 'weather' },
    ]);
    const result = { type: 'function_call_output', call_id: second.output[2]?.['call_id'] ?? '', output: 'Sunny' };
    await ask(gateway, [...input, ...second.output, result], { tools: [weather] });
    const history = gateway.model.requests[1]?.messages ?? [];
    expect(history.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool', 'tool']);
    expect(history[1]).toMatchObject({ toolCalls: [{ name: 'pay' }, { name: 'look' }, { name: 'weather' }] });
  });

  it('is history once something of the assistant follows it', async () => {
    const gateway = await gatewayWith(calls(['pay', { amount: 5 }]), says('Paid.'), says('Gladly.'));
    const {
      output: [request],
    } = await ask(gateway, [pay]);
    const input = [pay, request ?? {}, decide(request, true)];
    const { output } = await ask(gateway, input);
    const third = await ask(gateway, [...input, ...output, { role: 'user', content: 'Thanks' }]);
    expect(third).toMatchObject({ status: 200, output: [{ content: [{ text: 'Gladly.' }] }] });
    expect(gateway.model.requests[2]?.messages).toMatchObject([
      { role: 'user' },
      { role: 'assistant', toolCalls: [{ name: 'pay', arguments: '{"amount":5}' }] },
      { role: 'tool', content: '{\n  "paid": true\n}' },
      { role: 'assistant', content: 'Paid.' },
      { role: 'user', content: 'Thanks' },
    ]);
    expect(paid(gateway)).toBe(1);
  });

  it('is not needed: the chat goes on, and the call has not run', async () => {
    const gateway = await gatewayWith(calls(['pay', { amount: 5 }]), says('As you like.'));
    const {
      output: [request],
    } = await ask(gateway, [pay]);
    expect((await ask(gateway, [pay, request ?? {}, { role: 'user', content: 'Never mind' }])).status).toBe(200);
    const [, , told] = gateway.model.requests[1]?.messages ?? [];
    expect(told).toMatchObject({ role: 'tool', content: expect.stringContaining('It has not run') });
  });

  it('leaves out what is said beside it, with a warning', async () => {
    const gateway = await gatewayWith(calls(['pay', { amount: 5 }]), says('Paid.'));
    const {
      output: [request],
    } = await ask(gateway, [pay]);
    const answered = await ask(gateway, [pay, request ?? {}, decide(request, true), { role: 'user', content: 'And tip!' }]);
    expect(answered.body['warnings']).toMatchObject([{ code: 'item_left_out', message: expect.stringContaining('input.3') }]);
  });

  it('may be sent again where the model failed after the call, and the call does not run again', async () => {
    const gateway = await gatewayWith(calls(['pay', { amount: 5 }]), [new GatewayError('upstream_error', 'Broken.')], says('Paid.'));
    const {
      output: [request],
    } = await ask(gateway, [pay]);
    const input = [pay, request ?? {}, decide(request, true)];
    expect((await ask(gateway, input)).status).toBe(502);
    expect((await ask(gateway, input)).output.at(-1)).toMatchObject({ content: [{ text: 'Paid.' }] });
    expect(paid(gateway)).toBe(1);
  });
});

/** Approves the call of a response by its token. */
function approve({ app }: Gateway, body: JsonObject): Promise<LightMyRequestResponse> {
  const approval = body['approval'] as { run_id: string; calls: { id: string; token: string }[] };
  const [call] = approval.calls;
  return app.server.inject({
    method: 'POST',
    url: `/api/runs/${approval.run_id}/approvals/${String(call?.id)}`,
    headers: { authorization: `Bearer ${adminKey}` },
    payload: { decision: 'approve', token: call?.token },
  });
}

/** What the model reads at the end of the request. */
const readLast = ({ model }: Gateway): [role: string, content: unknown][] =>
  (model.requests.at(-1)?.messages ?? []).map(({ role, content }) => [role, content]);

describe('the message beside a request for approval', () => {
  const waits = calls(['pay', { amount: 5 }]);

  it.each<[what: string, sentBack: (output: JsonObject[]) => JsonObject[]]>([
    ['all items', (output) => output],
    ['the message alone', (output) => output.filter(({ type }) => type === 'message')],
  ])('is understood when a client sends back %s', async (_what, sentBack) => {
    const gateway = await gatewayWith(waits, says('Not yet.'), says('Paid.'), says('Gladly.'));
    const first = await ask(gateway, [pay]);
    const history = [pay, ...sentBack(first.output)];
    await ask(gateway, [...history, { role: 'user', content: 'Done?' }]);
    const waiting = ['tool', expect.stringContaining('has not run')];
    const before = [['user', 'Pay'], ['assistant', null], waiting];
    expect(readLast(gateway).slice(0, 3)).toEqual(before);
    expect(readLast(gateway).filter(([role]) => role === 'tool')).toHaveLength(1);
    await approve(gateway, first.body);
    await ask(gateway, [...history, { role: 'user', content: 'Thanks' }]);
    expect(readLast(gateway)).toEqual([
      ['user', 'Pay'],
      ['assistant', null],
      ['tool', expect.stringContaining('paid')],
      ['assistant', 'Paid.'],
      ['user', 'Thanks'],
    ]);
    expect(paid(gateway)).toBe(1);
  });
});

it('a decision by token is answered as a response with the call', async () => {
  const gateway = await gatewayWith(calls(['pay', { amount: 5 }]), says('Paid.'));
  const { body } = await ask(gateway, [pay]);
  const response = await approve(gateway, body);
  expect(response.json<JsonObject>()['output']).toMatchObject([
    { type: 'mcp_call', server_label: 'bank', name: 'pay', arguments: '{"amount":5}' },
    { type: 'message' },
  ]);
});
