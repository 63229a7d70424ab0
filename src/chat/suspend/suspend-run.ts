import type { ChatEvent } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import { pullFrom } from '../../shared/emit.ts';
import type { Emit } from '../../shared/emit.ts';
import type { JsonObject } from '../../shared/json.ts';
import { eventIdOf, withinOf } from './nested-call-ids.ts';
import type { RunWait, WaitingCall } from '../../core/suspended-run.ts';
import type { ToolCallResult } from '../tool-calls/tool-call-result.ts';
import { isUnfinished, toolCallEvents } from '../tool-calls/run-round.ts';
import type { TurnSeparator } from '../loop/separate-turns.ts';
import { toSettledCall, toWaitingCalls } from './loop-checkpoint.ts';
import type { LoopCheckpoint } from './loop-checkpoint.ts';

export type LoopState = Omit<LoopCheckpoint, 'version' | 'turn' | 'settled' | 'inner'>;

export interface RoundToSuspend {
  wait: RunWait | undefined;
  turn: LoopCheckpoint['turn'];
  reports: readonly ToolCallResult[];
  /** The loop beside this round. */
  loop: LoopState;
  separator: TurnSeparator;
}

/** Arguments beyond this are read where they are decided on. */
const shownCharacters = 200;

/**
 * Puts a run away whose round has calls that wait, with the results that it has, and says so. False where it cannot be kept: then the calls
 * are reported as not run, and the run goes on.
 */
export async function* suspendRun({ wait, turn, reports, loop, separator }: RoundToSuspend): AsyncGenerator<ChatEvent, boolean> {
  const calls = toWaitingCalls(reports);
  const settled = reports.flatMap((report, place) => (isUnfinished(report) ? [] : [toSettledCall(report, place)]));
  const inner = reports.flatMap((report, place) =>
    report.inner === undefined ? [] : [{ place, args: report.prepared.args ?? {}, run: report.inner.run }],
  );
  try {
    if (wait === undefined) throw new GatewayError('conflict', 'This run cannot wait.');
    const state: LoopCheckpoint = { ...loop, version: 1, turn, settled, ...(inner.length > 0 && { inner }) };
    const approval = await wait.suspend(calls, state as unknown as JsonObject);
    for (const { outcome } of reports) if (outcome.usage !== undefined) yield { type: 'usage', usage: outcome.usage };
    yield* pullFrom(async (emit: Emit<ChatEvent>) => separator.separate(emit)([{ type: 'text', text: words(calls) }]));
    yield { type: 'approval', approval };
    yield { type: 'finish', reason: 'stop' };
    return true;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    yield { type: 'run-event', event: { type: 'warning', data: { code: error.code, message: error.message } } };
    for (const call of calls) {
      const data = { id: eventIdOf(call), tool: call.tool, decision: 'unavailable', ...withinOf(call) };
      yield { type: 'run-event', event: { type: 'approval.response', data } };
    }
    for (const report of reports) if (isUnfinished(report)) yield* toolCallEvents(report);
    return false;
  }
}

function words(calls: readonly WaitingCall[]): string {
  const shown = calls.map(({ tool, args }) => {
    const text = JSON.stringify(args);
    return `${tool}(${text.length > shownCharacters ? `${text.slice(0, shownCharacters).toWellFormed()}…` : text})`;
  });
  return `Waiting for your approval: ${shown.join(', ')}.`;
}

/** Where a run stands between two rounds: the model is asked next. */
export function betweenRounds(loop: LoopState): JsonObject {
  const state: LoopCheckpoint = { ...loop, version: 1, turn: { text: '', calls: [] }, settled: [] };
  return state as unknown as JsonObject;
}
