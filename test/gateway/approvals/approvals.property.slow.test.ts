import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { textOf } from '../../../src/core/chat/chat.ts';
import { GatewayError } from '../../../src/core/errors.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import type { ModelBackend } from '../../../src/core/models/model.ts';
import { memoryRegistry, memoryRuns, memoryWaitingRuns } from '../../_support/memory-stores.ts';
import { backendOf } from '../../_support/build-app.ts';
import type { Gateway } from '../gateway.ts';
import { askPlainly, bank, bankGateway, call, decide, readRun } from './approval-fixture.ts';
import type { Asked } from './approval-fixture.ts';
import { generatedBy } from '../../_support/scripted-model.ts';
import { outboundBody } from '../../_support/outbound-body.ts';

const adminKey = 'sk-tw-fixed-administrator';
const secret = 'the secret of every process';

interface Question {
  amounts: number[];
  /** The first answer behind the results comes to nothing. */
  isFlaky: boolean;
}

/**
 * Calls `pay` with each amount that the question lists, or has the preset `payer` do so where that is on offer, and answers once it has read the
 * results. `failed`: questions to which it owes no failure any more.
 */
function payerWith(failed: Set<string>): ModelBackend {
  return generatedBy(async function* ({ messages, tools }) {
    const text = textOf(messages.find(({ role }) => role === 'user')?.content ?? '');
    const { amounts, isFlaky } = JSON.parse(text) as Question;
    if (messages.at(-1)?.role !== 'user') {
      const isFirst = isFlaky && !failed.has(text);
      failed.add(text);
      if (isFirst) throw new GatewayError('upstream_unreachable', 'The backend is gone.');
      yield { type: 'text', text: 'Done.' };
      return yield { type: 'finish', reason: 'stop' };
    }
    const isAsking = tools.some(({ name }) => name === 'payer');
    const wanted: JsonObject[] = isAsking
      ? [{ request: JSON.stringify({ amounts, isFlaky: false }) }]
      : amounts.map((amount) => ({ amount }));
    for (const [place, args] of wanted.entries())
      yield { type: 'tool-call', call: { id: idOf(place), name: isAsking ? 'payer' : 'pay', arguments: JSON.stringify(args) } };
    yield { type: 'finish', reason: 'tool_calls' };
  });
}

/** No mere count, which the gateway would replace. */
const idOf = (place: number): string => `wanted-${String.fromCodePoint(97 + place)}`;

interface CallModel {
  amount: number;
  decision: 'approve' | 'reject' | undefined;
}
interface RunModel {
  owner: string;
  /** `kept`: all is decided and has run, and the answer has failed. */
  state: 'waiting' | 'kept' | 'completed' | 'cancelled';
  isFlaky: boolean;
  /** Whether it has come to its failure, and so has called what was approved. */
  hasFailed: boolean;
  calls: CallModel[];
}
interface Model {
  runs: RunModel[];
}
interface Real {
  /** What runs have come to, over all sequences. */
  reached: Set<string>;
  gateway: Gateway;
  /** Of all processes. */
  paid: number[];
  keys: Record<string, string>;
  asked: Asked[];
  restart(): Promise<void>;
}

async function begin(reached: Set<string>): Promise<Real> {
  const stores = { runs: memoryRuns(), waitingRuns: memoryWaitingRuns(), registry: memoryRegistry([bank]) };
  const paid: number[] = [];
  const backends = [backendOf(payerWith(new Set()))];
  const pay = async ({ body }: { body?: unknown }) => {
    paid.push((JSON.parse(String(body)) as { amount: number }).amount);
    async function* read(): AsyncGenerator<Uint8Array> {
      yield new TextEncoder().encode('{"paid":true}');
    }
    return { status: 200, headers: { 'content-type': 'application/json' }, body: outboundBody(read()) };
  };
  const environment = { TOOLWHARF_ADMIN_KEY: adminKey };
  const open = (): Promise<Gateway> =>
    bankGateway({ ...stores, environment, config: { secret }, backends, answers: { 'http://bank.test/pay': pay } });
  const real: Real = {
    reached,
    gateway: await open(),
    paid,
    keys: { admin: adminKey },
    asked: [],
    async restart() {
      await real.gateway[Symbol.asyncDispose]();
      real.gateway = await open();
    },
  };
  const payload = { id: 'payer', base_model: 'model', tools: ['server:bank'] };
  expect((await call(real.gateway, 'POST /api/presets', { key: adminKey, payload })).statusCode).toBe(201);
  for (const name of ['ada', 'bob']) {
    const made = await call(real.gateway, 'POST /api/keys', { key: adminKey, payload: { name, role: 'user' } });
    real.keys[name] = made.json<{ key: string }>().key;
  }
  return real;
}

type Step = fc.AsyncCommand<Model, Real, true>;

async function compare(model: Model, real: Real): Promise<void> {
  const expected = model.runs.flatMap(({ state, hasFailed, calls }) =>
    state === 'completed' || hasFailed ? calls.flatMap(({ amount, decision }) => (decision === 'approve' ? [amount] : [])) : [],
  );
  expect(real.paid.toSorted((a, b) => a - b)).toEqual(expected.toSorted((a, b) => a - b));
  for (const [index, { state, hasFailed }] of model.runs.entries()) {
    real.reached.add(hasFailed ? `${state} after a failure` : state);
    const asked = real.asked[index];
    if (asked !== undefined) expect((await readRun(real.gateway, asked, adminKey)).status).toBe(state === 'kept' ? 'waiting' : state);
  }
}

const start = (owner: string, count: number, kind: { isInner: boolean; isFlaky: boolean }): Step => ({
  check: async ({ runs }) => runs.length < 4,
  async run(model, real) {
    const calls = Array.from({ length: count }, (_, index): CallModel => ({ amount: model.runs.length * 10 + index, decision: undefined }));
    const { isInner, isFlaky } = kind;
    const content = JSON.stringify({ amounts: calls.map(({ amount }) => amount), isFlaky } satisfies Question);
    const fields = { messages: [{ role: 'user', content }], ...(isInner && { tool_ids: ['preset:payer'] }) };
    const asked = await askPlainly(real.gateway, fields, real.keys[owner]);
    expect(asked.approval.calls.map(({ id }) => id)).toEqual(calls.map((_call, place) => `${isInner ? `${idOf(0)}.` : ''}${idOf(place)}`));
    real.asked.push(asked);
    model.runs.push({ owner, state: 'waiting', calls, isFlaky, hasFailed: false });
    await compare(model, real);
  },
  toString: () => `start(${owner}, ${count}, ${JSON.stringify(kind)})`,
});

interface Attempt {
  run: number;
  place: number;
  by: string;
  decision: 'approve' | 'reject';
  token: 'own' | 'sibling';
}

/** What the specification says of an attempt, and what it changes. */
function judge(run: RunModel, target: CallModel, { by, decision }: Attempt, isOwnToken: boolean): number {
  if (by !== run.owner) return 404;
  if (run.state !== 'waiting' && run.state !== 'kept') return 409;
  if (!isOwnToken) return 403;
  if (run.state === 'kept') {
    if (target.decision !== decision) return 409;
    run.state = 'completed';
    return 200;
  }
  if (target.decision !== undefined) return 409;
  target.decision = decision;
  if (run.calls.some((each) => each.decision === undefined)) return 202;
  run.hasFailed = run.isFlaky;
  run.state = run.isFlaky ? 'kept' : 'completed';
  return run.isFlaky ? 502 : 200;
}

const attempt = (wanted: Attempt): Step => ({
  check: async ({ runs }) => runs.length > 0,
  async run(model, real) {
    const at = wanted.run % model.runs.length;
    const [run, asked] = [model.runs[at], real.asked[at]];
    if (run === undefined || asked === undefined) return;
    const place = wanted.place % run.calls.length;
    const target = run.calls[place];
    if (target === undefined) return;
    const tokenPlace = wanted.token === 'own' ? place : (place + 1) % run.calls.length;
    const fields: JsonObject = { decision: wanted.decision, token: asked.approval.calls[tokenPlace]?.token ?? '' };
    const expected = judge(run, target, wanted, tokenPlace === place);
    const response = await decide(real.gateway, asked, { ...fields, place, key: real.keys[wanted.by] ?? '' });
    expect(response.statusCode).toBe(expected);
    await compare(model, real);
  },
  toString: () => `attempt(${JSON.stringify(wanted)})`,
});

/** Whoever wants an answer decides on all that waits. */
const settle = (index: number, decision: 'approve' | 'reject'): Step => ({
  check: async ({ runs }) => runs.length > 0,
  async run(model, real) {
    const at = index % model.runs.length;
    const run = model.runs[at];
    const open = run?.calls.flatMap((each, place) => (each.decision === undefined ? [place] : [])) ?? [];
    for (const place of open) await attempt({ run: at, place, by: run?.owner ?? '', decision, token: 'own' }).run(model, real);
  },
  toString: () => `settle(${index}, ${decision})`,
});

const restart: Step = {
  check: async ({ runs }) => runs.length > 0,
  async run(model, real) {
    await real.restart();
    await compare(model, real);
  },
  toString: () => 'restart',
};

const cancel = (index: number, by: string): Step => ({
  check: async ({ runs }) => runs.length > 0,
  async run(model, real) {
    const at = index % model.runs.length;
    const [run, asked] = [model.runs[at], real.asked[at]];
    if (run === undefined || asked === undefined) return;
    const response = await call(real.gateway, `POST /api/runs/${asked.approval.run_id}/cancel`, { key: real.keys[by], payload: {} });
    const isAllowed = by === run.owner || by === 'admin';
    expect(response.statusCode).toBe(isAllowed ? 200 : 404);
    if (isAllowed && (run.state === 'waiting' || run.state === 'kept')) run.state = 'cancelled';
    await compare(model, real);
  },
  toString: () => `cancel(${index}, ${by})`,
});

it('whoever decides and cancels in whatever order, each call is settled once and by its owner, and runs only when it was approved [S2-11, S2-17]', async () => {
  const index = fc.nat({ max: 3 });
  const caller = fc.constantFrom('ada', 'ada', 'bob', 'admin');
  const decisions = fc.record({
    run: index,
    place: fc.nat({ max: 2 }),
    by: caller,
    decision: fc.constantFrom('approve' as const, 'approve' as const, 'reject' as const),
    token: fc.constantFrom('own' as const, 'own' as const, 'own' as const, 'sibling' as const),
  });
  const steps = fc.commands(
    [
      fc
        .tuple(fc.constantFrom('ada', 'bob'), fc.integer({ min: 1, max: 3 }), fc.record({ isInner: fc.boolean(), isFlaky: fc.boolean() }))
        .map(([owner, count, kind]) => start(owner, count, kind)),
      decisions.map(attempt),
      decisions.map(attempt),
      decisions.map(attempt),
      fc.tuple(index, fc.constantFrom('approve' as const, 'reject' as const)).map(([at, decision]) => settle(at, decision)),
      fc.tuple(index, caller).map(([at, by]) => cancel(at, by)),
      fc.constant(restart),
    ],
    { maxCommands: 30, size: 'max' },
  );
  const reached = new Set<string>();
  const anySteps = fc.asyncProperty(steps, async (commands) => {
    const real = await begin(reached);
    const model: Model = { runs: [] };
    try {
      await fc.asyncModelRun(() => ({ model, real }), commands);
    } finally {
      await real.gateway[Symbol.asyncDispose]();
    }
  });
  // Steps that never got anywhere would prove nothing; what forty of them have not met, others meet.
  const wanted = ['cancelled', 'completed', 'completed after a failure', 'kept after a failure', 'waiting'];
  for (let tries = 0; tries < 5 && wanted.some((state) => !reached.has(state)); tries += 1) await fc.assert(anySteps, { numRuns: 40 });
  expect([...reached]).toEqual(expect.arrayContaining(wanted));
}, 60_000);
