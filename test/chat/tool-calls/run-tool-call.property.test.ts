import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { createDuplicateCallGuard } from '../../../src/chat/tool-calls/duplicate-call-guard.ts';
import type { ToolCallResult } from '../../../src/chat/tool-calls/tool-call-result.ts';
import { runToolCall } from '../../../src/chat/tool-calls/run-tool-call.ts';
import { freeSlot } from '../../../src/chat/tool-calls/schedule-calls.ts';
import type { SlotAnswer } from '../../../src/chat/tool-calls/schedule-calls.ts';
import { fitToolCall } from '../../../src/chat/tool-calls/prepare-tool-call.ts';
import type { Tool, ToolContext, ToolOutcome } from '../../../src/core/tools/tool.ts';
import { runContext, toolMap, toolNamed } from '../../_support/tools.ts';
import { callSettings, numbered } from '../loop-fixture.ts';

type Ended = 'result' | 'error' | 'not_started' | 'cancelled' | 'outcome_unknown';

/** What the specification says of one call. `endedBy` is settled exactly once. */
interface CallModel {
  phase: 'waiting' | 'running' | 'settled';
  isReadOnly: boolean;
  inCritical: boolean;
  /** A cancellation that waits for the end of a critical section. */
  isEnding: boolean;
  endedBy: Ended | undefined;
}
interface Model {
  calls: CallModel[];
}

/** The real thing, with handles on what its tool does. */
interface LiveCall {
  start: () => void;
  end: (why: 'cancelled' | 'left') => void;
  answer: PromiseWithResolvers<ToolOutcome>;
  leaveCritical: (() => void) | undefined;
  context: ToolContext | undefined;
  runs: number;
  settlements: ToolCallResult[];
}
interface Real {
  calls: LiveCall[];
}

/** Microtasks and one tick of the event loop: a cancellation after a critical section takes effect in the next tick. */
const quiet = async (): Promise<void> => {
  for (let tick = 0; tick < 2; tick++) await new Promise((resolve) => setImmediate(resolve));
};

function addCall(real: Real, isReadOnly: boolean): void {
  const start = Promise.withResolvers<SlotAnswer>();
  const leave = new AbortController();
  let cancelCall = (): void => undefined;
  const calls = {
    register(_id: string, cancel: () => void) {
      cancelCall = cancel;
      return () => undefined;
    },
  };
  const live: LiveCall = {
    start: () => start.resolve('go'),
    end: (why) => (why === 'left' ? leave.abort() : cancelCall()),
    answer: Promise.withResolvers(),
    leaveCritical: undefined,
    context: undefined,
    runs: 0,
    settlements: [],
  };
  const tool: Tool = {
    ...toolNamed('work', 1, numbered),
    isReadOnly,
    run: (_invocation, context) => {
      live.runs++;
      live.context = context;
      return live.answer.promise;
    },
  };
  const call = { id: `call-${real.calls.length}`, name: 'work', arguments: JSON.stringify({ n: real.calls.length }) };
  const settings = callSettings({ defaultTimeoutMs: 60_000, run: runContext({ calls, signal: leave.signal }) });
  const scope = { guard: createDuplicateCallGuard(), slot: { ...freeSlot, toRun: () => start.promise } };
  const running = runToolCall(fitToolCall(call, toolMap(tool)), settings, scope);
  void running.then((result) => live.settlements.push(result));
  real.calls.push(live);
}

function endedOf({ outcome }: ToolCallResult): Ended {
  return outcome.type === 'result' ? 'result' : (outcome.state ?? 'error');
}

/** After every step: each call has settled exactly as often as the model says, in the way it says, and was started at most once. */
async function compare(model: Model, real: Real): Promise<void> {
  await quiet();
  expect(real.calls.map(({ settlements }) => settlements.map(endedOf))).toEqual(
    model.calls.map(({ endedBy }) => (endedBy ? [endedBy] : [])),
  );
  expect(
    real.calls.every(
      ({ runs }, index) => runs === (model.calls[index]?.endedBy === 'not_started' || model.calls[index]?.phase === 'waiting' ? 0 : 1),
    ),
  ).toBe(true);
}

type Step = fc.AsyncCommand<Model, Real, true>;
type Change = (call: CallModel, live: LiveCall) => void;

/** A step on one of the calls there are. */
function step(name: string, index: number, change: Change): Step {
  return {
    check: async (model) => model.calls.length > 0,
    run: async (model, real) => {
      const at = index % model.calls.length;
      const [call, live] = [model.calls[at], real.calls[at]];
      if (call !== undefined && live !== undefined) change(call, live);
      await compare(model, real);
    },
    toString: () => `${name}(${index})`,
  };
}

function settle(call: CallModel, endedBy: Ended): void {
  if (call.phase === 'settled') return;
  call.phase = 'settled';
  call.endedBy = endedBy;
}

const add = (isReadOnly: boolean): Step => ({
  check: async (model) => model.calls.length < 5,
  run: async (model, real) => {
    addCall(real, isReadOnly);
    model.calls.push({ phase: 'waiting', isReadOnly, inCritical: false, isEnding: false, endedBy: undefined });
    await compare(model, real);
  },
  toString: () => `add(${isReadOnly})`,
});

const start = (index: number): Step =>
  step('start', index, (call, live) => {
    live.start();
    if (call.phase === 'waiting') call.phase = 'running';
  });

const answerWith = (index: number, isError: boolean): Step =>
  step(isError ? 'fail' : 'answer', index, (call, live) => {
    // A tool has only what it was started for; its late answer must change nothing.
    if (live.runs === 0) return;
    live.answer.resolve(isError ? { type: 'error', code: 'tool_error', message: 'no' } : { type: 'result', value: 1 });
    if (call.phase === 'running') settle(call, isError ? 'error' : 'result');
  });

const end = (index: number, type: 'cancelled' | 'left'): Step =>
  step(type, index, (call, live) => {
    live.end(type);
    if (call.phase === 'waiting') settle(call, 'not_started');
    else if (call.inCritical) call.isEnding = true;
    else settle(call, call.isReadOnly ? 'cancelled' : 'outcome_unknown');
  });

const enterCritical = (index: number): Step =>
  step('enterCritical', index, (call, live) => {
    if (call.phase !== 'running' || live.leaveCritical !== undefined) return;
    const gate = Promise.withResolvers<void>();
    live.leaveCritical = gate.resolve;
    call.inCritical = true;
    live.context?.critical(() => gate.promise).catch(() => undefined);
  });

const leaveCritical = (index: number): Step =>
  step('leaveCritical', index, (call, live) => {
    live.leaveCritical?.();
    live.leaveCritical = undefined;
    call.inCritical = false;
    if (call.isEnding) settle(call, call.isReadOnly ? 'cancelled' : 'outcome_unknown');
  });

it('whatever happens to calls and in whatever order, each settles exactly once, and for the reason that came first', async () => {
  const index = fc.nat({ max: 4 });
  const steps = fc.commands(
    [
      fc.boolean().map(add),
      index.map(start),
      fc.tuple(index, fc.boolean()).map(([at, isError]) => answerWith(at, isError)),
      fc.tuple(index, fc.constantFrom('cancelled' as const, 'left' as const)).map(([at, type]) => end(at, type)),
      index.map(enterCritical),
      index.map(leaveCritical),
    ],
    { maxCommands: 40, size: 'max' },
  );
  await fc.assert(
    fc.asyncProperty(steps, async (commands) => {
      const real: Real = { calls: [] };
      try {
        await fc.asyncModelRun(() => ({ model: { calls: [] }, real }), commands);
      } finally {
        // Open time limits would hold the test's process.
        for (const { end: endCall, answer, leaveCritical: leave } of real.calls) {
          leave?.();
          endCall('left');
          answer.resolve({ type: 'result', value: 1 });
        }
      }
    }),
    { numRuns: 100 },
  );
});
