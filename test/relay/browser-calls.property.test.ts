import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import type { BrowserRelay } from '../../src/relay/browser-relay.ts';
import type { RelaySession } from '../../src/relay/session.ts';
import { ada, bob, invocation, recordingSocket, startRelay, timeCall } from './relay-fixture.ts';
import type { RecordingSocket } from './relay-fixture.ts';

const owners = [ada, ada, bob];

/** How a call ended: the value of its answer, a code, or `left`. */
type Ended = string;

interface Model {
  calls: { session: number; ended: Ended | undefined }[];
  isGone: boolean[];
  answers: number;
}

interface Real {
  relay: BrowserRelay;
  sessions: { session: RelaySession; socket: RecordingSocket }[];
  calls: { leave: AbortController; wireId: string; ends: Ended[] }[];
}

async function compare(model: Model, real: Real): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(real.calls.map(({ ends }) => ends)).toEqual(model.calls.map(({ ended }) => (ended === undefined ? [] : [ended])));
  expect(real.relay.counts().pendingCalls).toBe(model.calls.filter(({ ended }) => ended === undefined).length);
}

type Step = fc.AsyncCommand<Model, Real, true>;

function step(name: string, act: (model: Model, real: Real) => void, isPossible: (model: Model) => boolean = () => true): Step {
  return {
    check: async (model) => isPossible(model),
    run: async (model, real) => {
      act(model, real);
      await compare(model, real);
    },
    toString: () => name,
  };
}

const hasCalls = (model: Model): boolean => model.calls.length > 0;

/** A run of `who` (an index of `owners`) asks a session, which may be somebody else's. */
const ask = (who: number, at: number): Step =>
  step(`ask(${who}, ${at})`, (model, real) => {
    const [caller, target] = [owners[who] ?? ada, real.sessions[at]];
    const seen = target?.socket.dataOf('execute:tool').length ?? 0;
    const leave = new AbortController();
    const ends: Ended[] = [];
    const call = invocation({ caller, sessionId: target?.session.id, signal: leave.signal, timeoutMs: 60_000 });
    real.relay.callBrowser(timeCall, call).then(
      (outcome) => ends.push(outcome.type === 'result' ? `value ${JSON.stringify(outcome.value)}` : outcome.code),
      () => ends.push('left'),
    );
    const wireId = target?.socket.dataOf('execute:tool')[seen]?.['id'];
    const isTaken = caller.id === owners[at]?.id && model.isGone[at] !== true;
    // Nobody else's browser hears of a call at all.
    expect(wireId !== undefined).toBe(isTaken);
    real.calls.push({ leave, wireId: typeof wireId === 'string' ? wireId : 'none', ends });
    model.calls.push({ session: at, ended: isTaken ? undefined : 'client_unavailable' });
  });

/** A session answers a call by its id, whether it was asked or not. */
const answer = (index: number, from: number): Step =>
  step(
    `answer(${index}, ${from})`,
    (model, real) => {
      const at = index % model.calls.length;
      const [call, live] = [model.calls[at], real.calls[at]];
      const value = ++model.answers;
      real.sessions[from]?.session.answer({ id: live?.wireId ?? '', result: value });
      if (call !== undefined && call.ended === undefined && call.session === from && model.isGone[from] !== true)
        call.ended = `value ${value}`;
    },
    hasCalls,
  );

const abort = (index: number): Step =>
  step(
    `abort(${index})`,
    (model, real) => {
      const at = index % model.calls.length;
      real.calls[at]?.leave.abort(new Error('left'));
      const call = model.calls[at];
      if (call !== undefined) call.ended ??= 'left';
    },
    hasCalls,
  );

const endSession = (at: number): Step =>
  step(`endSession(${at})`, (model, real) => {
    real.sessions[at]?.session.end();
    model.isGone[at] = true;
    for (const call of model.calls) if (call.session === at) call.ended ??= 'client_disconnected';
  });

it('whoever asks, answers and leaves in whatever order, each browser call settles exactly once, and only by the session that was asked', async () => {
  const session = fc.nat({ max: owners.length - 1 });
  const index = fc.nat({ max: 9 });
  const asking = fc.tuple(session, session).map(([who, at]) => ask(who, at));
  const answering = fc.tuple(index, session).map(([at, from]) => answer(at, from));
  // Sessions end rarely, or nothing would happen after a few steps.
  const steps = fc.commands([asking, asking, asking, answering, answering, answering, index.map(abort), session.map(endSession)], {
    maxCommands: 30,
    size: 'max',
  });
  await fc.assert(
    fc.asyncProperty(steps, async (commands) => {
      const relay = startRelay();
      const sessions = await Promise.all(
        owners.map(async (caller) => {
          const socket = recordingSocket();
          return { session: await relay.open({ caller, socket }), socket };
        }),
      );
      const real: Real = { relay, sessions, calls: [] };
      try {
        await fc.asyncModelRun(() => ({ model: { calls: [], isGone: [], answers: 0 }, real }), commands);
      } finally {
        for (const { leave } of real.calls) leave.abort(new Error('over'));
        await relay.close();
      }
    }),
    { numRuns: 60 },
  );
});
