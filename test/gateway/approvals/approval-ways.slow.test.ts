import { describe, expect, it, onTestFinished } from 'vitest';
import type { ModelEvent } from '../../../src/core/chat/chat.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import type { ModelBackend, ModelRequest } from '../../../src/core/models/model.ts';
import { backendOf } from '../../_support/build-app.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import { functionModule } from '../../_support/tools-folder.ts';
import { functionGateway, listen } from '../functions/function-gateway.ts';
import { documentOf, gatewayOf, serverOf } from '../gateway.ts';
import type { Gateway } from '../gateway.ts';
import { bankAnswers, call, decide, pathsSent } from './approval-fixture.ts';
import type { Asked } from './approval-fixture.ts';
import { generatedBy } from '../../_support/scripted-model.ts';

/** Every way on which `pay` can be reached, against every rule that may stand on it: nobody pays without being asked. */

/** Calls of what it is offered what leads to `pay`, and answers once that was called. The caller's own function of the name is not it. */
function payingModel(): { backend: ModelBackend; offered: string[][] } {
  const offered: string[][] = [];
  const wishes: [RegExp, (request: ModelRequest) => JsonObject][] = [
    [/^(?:\w+_)?pay(?:_\w+)?$/, () => ({ amount: 5 })],
    [/^refund$/, () => ({ amount: 1 })],
    [/^payer/, () => ({ request: 'Pay 5.' })],
    [/^transfer_to_agent$/, () => ({ agent: 'payer' })],
    [/^find_tools$/, () => ({ query: 'pay' })],
  ];
  async function* chat(request: ModelRequest): AsyncGenerator<ModelEvent> {
    const names = request.tools.map(({ name }) => name);
    offered.push(names);
    const called = request.messages.flatMap((message) => (message.role === 'assistant' ? message.toolCalls : [])).map(({ name }) => name);
    const isDone = called.some((name) => /pay/.test(name));
    const order = names.includes('refund') && !called.includes('refund') ? [wishes[1], ...wishes] : wishes;
    const found = order.flatMap((wish) => names.filter((name) => wish?.[0].test(name)).map((name) => ({ name, args: wish?.[1](request) })));
    // Of several functions of one name the last one: it was renamed.
    const first = found.filter(({ name }) => name.startsWith(found[0]?.name.slice(0, 3) ?? '')).at(-1);
    if (isDone || first === undefined) {
      yield { type: 'text', text: 'Done.' };
      yield { type: 'finish', reason: 'stop' };
      return;
    }
    yield { type: 'tool-call', call: { id: `call-${offered.length}`, name: first.name, arguments: JSON.stringify(first.args) } };
    yield { type: 'finish', reason: 'tool_calls' };
  }
  return { backend: generatedBy(chat), offered };
}

const ownPay = { type: 'function', function: { name: 'pay', parameters: { type: 'object', properties: {} } } };
const payOnly = documentOf({ pay: { type: 'object', properties: { amount: { type: 'integer' } } } });
const refundAndPay = documentOf({
  pay: { type: 'object', properties: { amount: { type: 'integer' } } },
  refund: { type: 'object', properties: { amount: { type: 'integer' } } },
});
const manyFunctions = documentOf({
  ...Object.fromEntries(
    Array.from({ length: 140 }, (_, index) => [`look_at_${index}`, { type: 'object', properties: {} } satisfies JsonObject]),
  ),
  pay: { type: 'object', properties: { amount: { type: 'integer' } } },
});

interface Way {
  name: string;
  /** `front`: the fields of the preset, or none, that the rule stands on. */
  presets: (front: JsonObject) => JsonObject[];
  ask: JsonObject;
  document?: JsonObject;
  /** Beside the rule that is tried. */
  config?: JsonObject;
}

const payer = { id: 'payer', base_model: 'model', tools: ['server:bank'] };
/** Ways of a chat with the preset `front`, on which a preset's rule stands. */
const waysOfPresets: Way[] = [
  { name: 'the preset itself', presets: (rule) => [{ ...payer, ...rule, id: 'front' }], ask: {} },
  { name: 'renamed beside a function of the caller', presets: (rule) => [{ ...payer, ...rule, id: 'front' }], ask: { tools: [ownPay] } },
  {
    name: 'a second server with a function of the name',
    presets: (rule) => [{ ...payer, ...rule, id: 'front', tools: ['server:aaa', 'server:bank'] }],
    ask: {},
  },
  {
    name: 'named by the request',
    presets: (rule) => [{ ...payer, ...rule, id: 'front', tools: [] }],
    ask: { tool_ids: ['server:bank/pay'] },
  },
  {
    name: 'a preset on that preset',
    presets: (rule) => [
      { ...payer, ...rule, id: 'below' },
      { id: 'front', base_model: 'below' },
    ],
    ask: {},
  },
  {
    name: 'a preset two presets above',
    presets: (rule) => [
      { ...payer, ...rule, id: 'below' },
      { id: 'between', base_model: 'below', needs_approval: false },
      { id: 'front', base_model: 'between', needs_approval: [] },
    ],
    ask: {},
  },
  {
    name: 'a hand-over from it',
    presets: (rule) => [payer, { id: 'front', base_model: 'model', tools: [], sub_agents: ['payer'], ...rule }],
    ask: {},
  },
  {
    name: 'a preset as its tool',
    presets: (rule) => [payer, { id: 'front', base_model: 'model', tools: ['preset:payer'], ...rule }],
    ask: {},
  },
  {
    name: 'a preset as its tool that hands over',
    presets: (rule) => [
      payer,
      { id: 'payer-desk', base_model: 'model', tools: [], sub_agents: ['payer'] },
      { id: 'front', base_model: 'model', tools: ['preset:payer-desk'], ...rule },
    ],
    ask: {},
  },
  {
    name: 'after another approval behind a hand-over from it',
    presets: (rule) => [payer, { id: 'front', base_model: 'model', tools: [], sub_agents: ['payer'], ...rule }],
    ask: {},
    document: refundAndPay,
    config: { needs_approval: ['refund'] },
  },
  { name: 'a search', presets: (rule) => [{ ...payer, ...rule, id: 'front' }], ask: {}, document: manyFunctions },
];

async function openGateway(way: Way, { onPreset, onServer }: { onPreset: JsonObject; onServer: JsonObject }): Promise<Gateway> {
  const model = payingModel();
  const gateway = await gatewayOf({
    backends: [backendOf(model.backend)],
    servers: [
      serverOf('bank', way.document ?? payOnly, { extra: { config: { ...way.config, ...onServer } } }),
      // Its key comes first, so that the other one is renamed.
      serverOf('aaa', payOnly, { isDefault: false }),
    ],
    answers: { ...bankAnswers, 'http://aaa.test/pay': { paid: true } },
  });
  onTestFinished(() => gateway[Symbol.asyncDispose]());
  for (const payload of way.presets(onPreset)) {
    const made = await call(gateway, 'POST /api/presets', { payload });
    expect([made.statusCode, made.body]).toEqual([201, expect.any(String)]);
  }
  return gateway;
}

/** Agrees to whatever waits until `pay` does; false where it was never asked about. */
async function isAskedToPay(gateway: Gateway, ask: JsonObject): Promise<boolean> {
  const payload = { model: 'front', messages: [{ role: 'user', content: 'Find a way to pay 5.' }], ...ask };
  let answer = (await call(gateway, 'POST /v1/chat/completions', { payload })).json<Asked>();
  for (let tries = 0; tries < 6; tries += 1) {
    const waiting = (answer.approval as Asked['approval'] | undefined)?.calls[0];
    if (waiting === undefined) return false;
    if (/^(?:\w+_)?pay(?:_\w+)?$/.test(waiting.tool)) return true;
    answer = (await decide(gateway, answer)).json<Asked>();
  }
  return false;
}

const presetRules: [string, JsonObject][] = [
  ['its name', { needs_approval: ['pay'] }],
  ['its name with its server', { needs_approval: ['bank/pay'] }],
  ['its entry of tool_ids', { needs_approval: ['server:bank/pay'] }],
  ['all functions', { needs_approval: true }],
];

describe.each(presetRules)('a preset that names %s asks before it runs', (_rule, onPreset) => {
  it.each(waysOfPresets.map((way): [string, Way] => [way.name, way]))('by %s', async (_name, way) => {
    const gateway = await openGateway(way, { onPreset, onServer: {} });
    expect(await isAskedToPay(gateway, way.ask)).toBe(true);
    expect(pathsSent(gateway)).not.toContain('/pay');
  });
});

it.each(waysOfPresets.map((way): [string, Way] => [way.name, way]))('without a rule it runs by %s', async (_name, way) => {
  const gateway = await openGateway(way, { onPreset: {}, onServer: {} });
  expect(await isAskedToPay(gateway, way.ask)).toBe(false);
  expect(pathsSent(gateway)).toContain('/pay');
});

describe.each<[string, JsonObject]>([
  ['the function', { needs_approval: ['pay'] }],
  ['all of it', { needs_approval: true }],
])('a server that names %s asks before it runs', (_rule, onServer) => {
  it.each(waysOfPresets.map((way): [string, Way] => [way.name, way]))('by %s', async (_name, way) => {
    const gateway = await openGateway(way, { onPreset: { needs_approval: false }, onServer });
    expect(await isAskedToPay(gateway, way.ask)).toBe(true);
    expect(pathsSent(gateway)).not.toContain('/pay');
  });

  const single = waysOfPresets[0] as Way;
  it.each(['bank/pay', 'pay', 'server:bank/pay'])('by invoking %s', async (id) => {
    const gateway = await openGateway(single, { onPreset: {}, onServer });
    const answer = await call(gateway, `POST /api/tools/${id}/invoke`, { payload: { arguments: { amount: 5 } } });
    expect([answer.statusCode, answer.json<Asked>()['error']]).toMatchObject([409, { code: 'approval_required' }]);
    expect(pathsSent(gateway)).toEqual([]);
  });

  it('by /mcp, and by a preset that is invoked', async () => {
    const gateway = await openGateway(single, { onPreset: {}, onServer });
    const params = { name: 'pay', arguments: { amount: 5 } };
    const mcp = await call(gateway, 'POST /mcp', { payload: { jsonrpc: '2.0', id: 1, method: 'tools/call', params } });
    expect(mcp.body).toContain('approval_required');
    await call(gateway, 'POST /api/tools/preset:front/invoke', { payload: { arguments: { request: 'Pay.' } } });
    expect(pathsSent(gateway)).toEqual([]);
  });
});

describe('a rule with the name by which a function is listed beside another one of its name', () => {
  const ask = { tool_ids: ['server:bank/pay'] };

  /** The other server comes first, so that `bank/pay` is listed under a name with an addition. */
  async function twoServers(rule: { onPreset?: JsonObject; onServer?: JsonObject }): Promise<{ gateway: Gateway; name: string }> {
    const gateway = await gatewayOf({
      backends: [backendOf(payingModel().backend)],
      servers: [serverOf('aaa', payOnly), serverOf('bank', payOnly, { extra: { config: rule.onServer ?? {} } })],
      answers: bankAnswers,
    });
    onTestFinished(() => gateway[Symbol.asyncDispose]());
    await call(gateway, 'POST /api/presets', { payload: { id: 'front', base_model: 'model', ...rule.onPreset } });
    const { data } = (await call(gateway, 'GET /api/tools')).json<{ data: { id: string; name: string }[] }>();
    return { gateway, name: data.find(({ id }) => id === 'bank/pay')?.name ?? '' };
  }

  it('holds where it is the only one, on a preset', async () => {
    const { name } = await twoServers({});
    expect(name).toMatch(/^pay_/);
    const { gateway } = await twoServers({ onPreset: { needs_approval: [name] } });
    expect(await isAskedToPay(gateway, ask)).toBe(true);
    expect(pathsSent(gateway)).toEqual([]);
  });

  it('holds where it is the only one, on a server, in a chat and by invocation', async () => {
    const { name } = await twoServers({});
    const { gateway } = await twoServers({ onServer: { needs_approval: [name] } });
    expect(await isAskedToPay(gateway, ask)).toBe(true);
    for (const id of ['bank/pay', name]) {
      const answer = await call(gateway, `POST /api/tools/${id}/invoke`, { payload: { arguments: { amount: 5 } } });
      expect([answer.statusCode, answer.json<Asked>()['error']]).toMatchObject([409, { code: 'approval_required' }]);
    }
    expect(pathsSent(gateway)).toEqual([]);
  });
});

it('a preset that is invoked asks by its own rule', async () => {
  const gateway = await openGateway(waysOfPresets[0] as Way, { onPreset: { needs_approval: ['pay'] }, onServer: {} });
  const answer = await call(gateway, 'POST /api/tools/preset:front/invoke', { payload: { arguments: { request: 'Pay.' } } });
  expect([answer.statusCode, pathsSent(gateway)]).toEqual([200, []]);
});

describe('an approval holds for what it was given for', () => {
  /** `change`: of the server, between the question and the decision. */
  async function approvedAcross(change: JsonObject, fields: JsonObject = {}): Promise<{ gateway: Gateway; answer: Asked }> {
    const turns = Array.from({ length: 2 }, () => [calls(['pay', { amount: 5 }]), says('Done.')]).flat();
    const gateway = await gatewayOf({
      turns,
      environment: { TOOLWHARF_ADMIN_KEY: 'sk-tw-fixed-administrator' },
      answers: { ...bankAnswers, 'http://moved.test/pay': { paid: true }, 'http://bank.test/pay-all': { paid: true } },
    });
    onTestFinished(() => gateway[Symbol.asyncDispose]());
    const key = 'sk-tw-fixed-administrator';
    const payload = { id: 'bank', url: 'http://bank.test', spec: payOnly, config: { needs_approval: true } };
    expect((await call(gateway, 'POST /api/tool-servers', { key, payload })).statusCode).toBe(201);
    const ask = { model: 'model', tool_ids: ['server:bank'], messages: [{ role: 'user', content: 'Pay.' }], chat_id: 'one', ...fields };
    const asked = (await call(gateway, 'POST /v1/chat/completions', { key, payload: ask })).json<Asked>();
    if (fields['remembered'] === true) await decide(gateway, asked, { key, remember: true });
    expect((await call(gateway, 'PATCH /api/tool-servers/bank', { key, payload: change })).statusCode).toBe(200);
    if (fields['remembered'] === true)
      return { gateway, answer: (await call(gateway, 'POST /v1/chat/completions', { key, payload: ask })).json<Asked>() };
    return { gateway, answer: (await decide(gateway, asked, { key })).json<Asked>() };
  }

  const payAll = JSON.parse(JSON.stringify(payOnly).replace('"/pay"', '"/pay-all"')) as JsonObject;
  const changes: [string, JsonObject][] = [
    ['the server has moved', { url: 'http://moved.test' }],
    ['the function leads to another path', { spec: payAll }],
  ];

  it.each(changes)('and runs nothing where %s meanwhile', async (_name, change) => {
    const { gateway, answer } = await approvedAcross(change);
    expect([pathsSent(gateway), answer.choices[0]?.finish_reason]).toEqual([[], 'stop']);
    expect(JSON.stringify(gateway.model.requests.at(-1)?.messages)).toContain('has changed since');
  });

  it.each(changes)('and is not remembered where %s since', async (_name, change) => {
    const { gateway, answer } = await approvedAcross(change, { remembered: true });
    expect([pathsSent(gateway), answer.approval.calls.map(({ tool }) => tool)]).toEqual([['/pay'], ['pay']]);
  });

  it('and runs where the server is as it was', async () => {
    const { gateway } = await approvedAcross({ info: { name: 'The bank' } });
    expect(pathsSent(gateway)).toEqual(['/pay']);
  });
});

describe('a function of this process', () => {
  const toolsets = [{ id: 'kit', tools: ['pay'], isEnabled: true, isDefault: undefined }];
  it.each<[string, more: string, rule: JsonObject, ask: JsonObject]>([
    ['its own word', 'needsApproval: true', {}, {}],
    ['its own word, renamed beside a function of the caller', 'needsApproval: true', {}, { tools: [ownPay] }],
    ['its own word, named by its toolset', 'needsApproval: true', {}, { tool_ids: ['toolset:kit'] }],
    ['a preset that names it', '', { needs_approval: ['pay'] }, { tools: [ownPay] }],
    ['a preset that names its entry', '', { needs_approval: ['function:pay'] }, { tool_ids: ['toolset:kit/pay'] }],
    ['a preset that names it by its toolset', '', { needs_approval: ['kit/pay'] }, { tools: [ownPay] }],
    ['a preset that names the entry of its toolset', '', { needs_approval: ['toolset:kit/pay'] }, {}],
  ])('waits by %s', async (_name, more, rule, ask) => {
    const source = functionModule('pay', { execute: "() => { tell('paid'); return 'paid' }", more });
    using told = listen();
    await using gateway = await functionGateway({ 'pay.js': source }, { toolsets, backends: [backendOf(payingModel().backend)] });
    await call(gateway, 'POST /api/presets', { payload: { id: 'front', base_model: 'model', ...rule } });
    expect(await isAskedToPay(gateway, ask)).toBe(true);
    expect(told.heard).toEqual([]);
  });
});
