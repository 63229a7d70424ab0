import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { textOf } from '../../src/core/chat.ts';
import type { JsonObject } from '../../src/core/json.ts';
import type { ModelBackend } from '../../src/core/model.ts';
import { createMemoryRegistry } from '../../src/registry/memory-registry.ts';
import { createMemoryRuns } from '../../src/registry/memory-runs.ts';
import { createMemoryWaitingRuns } from '../../src/registry/memory-waiting-runs.ts';
import { backendOf } from '../_support/build-app.ts';
import type { Gateway } from '../requirements/gateway.ts';
import { askPlainly, bank, bankGateway, call, decide, readRun } from './approval-fixture.ts';
import type { Asked } from './approval-fixture.ts';

const adminKey = 'sk-tw-fixed-administrator';
const secret = 'the secret of every process';

/** Calls `pay` with each amount that the question lists, and answers once it has read their results. */
const payer: ModelBackend = {
  async *chat({ messages }) {
    const last = messages.at(-1);
    const amounts = last?.role === 'user' ? (JSON.parse(textOf(last.content)) as number[]) : [];
    for (const amount of amounts)
      yield { type: 'tool-call', call: { id: `call_${amount}`, name: 'pay', arguments: JSON.stringify({ amount }) } };
    if (amounts.length === 0) yield { type: 'text', text: 'Done.' };
    yield { type: 'finish', reason: amounts.length === 0 ? 'stop' : 'tool_calls' };
  },
};

interface CallModel {
  amount: number;
  decision: 'approve' | 'reject' | undefined;
}
interface RunModel {
  owner: string;
  state: 'waiting' | 'completed' | 'cancelled';
  calls: CallModel[];
}
interface Model {
  runs: RunModel[];
}
interface Real {
  gateway: Gateway;
  /** Of all processes. */
  paid: number[];
  keys: Record<string, string>;
  asked: Asked[];
  restart(): Promise<void>;
}

async function begin(): Promise<Real> {
  const stores = { runs: createMemoryRuns(), waitingRuns: createMemoryWaitingRuns(), registry: createMemoryRegistry([bank]) };
  const paid: number[] = [];
  const pay = async ({ body }: { body?: unknown }) => {
    paid.push((JSON.parse(String(body)) as { amount: number }).amount);
    async function* read(): AsyncGenerator<Uint8Array> {
      yield new TextEncoder().encode('{"paid":true}');
    }
    return { status: 200, headers: { 'content-type': 'application/json' }, body: read() };
  };
  const environment = { TOOLWHARF_ADMIN_KEY: adminKey };
  const open = (): Promise<Gateway> =>
    bankGateway({ ...stores, environment, config: { secret }, backends: [backendOf(payer)], answers: { 'http://bank.test/pay': pay } });
  const real: Real = {
    gateway: await open(),
    paid,
    keys: { admin: adminKey },
    asked: [],
    async restart() {
      await real.gateway[Symbol.asyncDispose]();
      real.gateway = await open();
    },
  };
  for (const name of ['ada', 'bob']) {
    const made = await call(real.gateway, 'POST /api/keys', { key: adminKey, payload: { name, role: 'user' } });
    real.keys[name] = made.json<{ key: string }>().key;
  }
  return real;
}

type Step = fc.AsyncCommand<Model, Real, true>;

async function compare(model: Model, real: Real): Promise<void> {
  const expected = model.runs.flatMap(({ state, calls }) =>
    state === 'completed' ? calls.flatMap(({ amount, decision }) => (decision === 'approve' ? [amount] : [])) : [],
  );
  expect(real.paid.toSorted((a, b) => a - b)).toEqual(expected.toSorted((a, b) => a - b));
  for (const [index, { state }] of model.runs.entries()) {
    const asked = real.asked[index];
    if (asked !== undefined) expect((await readRun(real.gateway, asked, adminKey)).status).toBe(state);
  }
}

const start = (owner: string, count: number): Step => ({
  check: async ({ runs }) => runs.length < 4,
  async run(model, real) {
    const calls = Array.from({ length: count }, (_, index): CallModel => ({ amount: model.runs.length * 10 + index, decision: undefined }));
    const messages = [{ role: 'user', content: JSON.stringify(calls.map(({ amount }) => amount)) }];
    real.asked.push(await askPlainly(real.gateway, { messages }, real.keys[owner]));
    model.runs.push({ owner, state: 'waiting', calls });
    await compare(model, real);
  },
  toString: () => `start(${owner}, ${count})`,
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
  if (run.state !== 'waiting') return 409;
  if (!isOwnToken) return 403;
  if (target.decision !== undefined) return 409;
  target.decision = decision;
  if (run.calls.some((each) => each.decision === undefined)) return 202;
  run.state = 'completed';
  return 200;
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
    if (isAllowed && run.state === 'waiting') run.state = 'cancelled';
    await compare(model, real);
  },
  toString: () => `cancel(${index}, ${by})`,
});

test('whoever decides and cancels in whatever order, each call is settled once and by its owner, and runs only when it was approved', async () => {
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
      fc.tuple(fc.constantFrom('ada', 'bob'), fc.integer({ min: 1, max: 3 })).map(([owner, count]) => start(owner, count)),
      decisions.map(attempt),
      decisions.map(attempt),
      decisions.map(attempt),
      fc.tuple(index, caller).map(([at, by]) => cancel(at, by)),
      fc.constant(restart),
    ],
    { maxCommands: 30, size: 'max' },
  );
  const reached = new Set<string>();
  await fc.assert(
    fc.asyncProperty(steps, async (commands) => {
      const real = await begin();
      const model: Model = { runs: [] };
      try {
        await fc.asyncModelRun(() => ({ model, real }), commands);
        for (const { state } of model.runs) reached.add(state);
      } finally {
        await real.gateway[Symbol.asyncDispose]();
      }
    }),
    { numRuns: 40 },
  );
  // Steps that never got anywhere would prove nothing.
  expect(reached).toEqual(new Set(['waiting', 'completed', 'cancelled']));
});
