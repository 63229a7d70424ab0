import { idWithin } from './nested-call-ids.ts';
import type { InnerRun, WaitingCall } from '../../core/suspended-run.ts';
import type { ChatMessage, Source, ToolCall } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import type { JsonObject } from '../../shared/json.ts';
import { limits } from '../../core/limits.ts';
import type { RunContext } from '../../core/run.ts';
import type { Turn } from '../loop/request-model.ts';
import type { GuardedCall } from '../tool-calls/duplicate-call-guard.ts';
import type { ToolCallResult } from '../tool-calls/tool-call-result.ts';
import type { ModeChoice } from '../modes/choose-mode.ts';
import type { BudgetUse } from '../loop/round-budget.ts';
import type { InnerCall, ToolRound } from '../tool-calls/run-round.ts';

/** The loop of a run that waits for decisions, amid a round. Plain data, which outlives this process. */
export interface LoopCheckpoint extends LoopState {
  /** Of this form; another one is not understood. */
  version: 2;
  /** The turn whose calls wait; without calls where the model is requested next. */
  turn: Pick<Turn, 'text' | 'thought'> & { calls: ToolCall[] };
  /** Calls of the turn that have settled. */
  settled: SettledCall[];
  /** Presets among them that wait amid their work. `args`: as they were called. */
  inner?: { index: number; args: JsonObject; run: InnerRun }[];
}

/** The loop beside its present round. */
export interface LoopState {
  choice: ModeChoice;
  messages: ChatMessage[];
  historyLength: number;
  /** Names of what was on offer; what `find_tools` had found is offered again. */
  tools: string[];
  guardedCalls: GuardedCall[];
  budget: BudgetUse;
  /** Results that the model may read on in, in the order of their references. */
  results: string[];
  isChoiceOpen: boolean;
}

/** `index`: among the calls of the turn that the gateway runs. */
interface SettledCall extends Omit<ToolCallResult, 'call'> {
  index: number;
}

/** A round that has calls which wait, with the results that it has. */
export function amidRound(
  loop: LoopState,
  { turn: { text, thought }, calls, results }: { turn: Turn; calls: ToolCall[]; results: readonly ToolCallResult[] },
): JsonObject {
  const inner = results.flatMap(({ suspended, args = {} }, index) =>
    suspended?.type === 'inner' ? [{ index, args, run: suspended.wait.run }] : [],
  );
  return toJson({
    ...loop,
    version: 2,
    turn: { text, ...(thought !== undefined && { thought }), calls },
    settled: results.flatMap((result, index) => (result.suspended === undefined ? [toSettledCall(result, index)] : [])),
    ...(inner.length > 0 && { inner }),
  });
}

/** Between two rounds: the model is requested next. */
export function betweenRounds(loop: LoopState): JsonObject {
  return toJson({ ...loop, version: 2, turn: { text: '', calls: [] }, settled: [] });
}

function toJson(checkpoint: LoopCheckpoint): JsonObject {
  return checkpoint as unknown as JsonObject;
}

/** Its usage was emitted when the run was suspended. */
function toSettledCall({ call: _call, outcome: { usage: _usage, ...outcome }, ...rest }: ToolCallResult, index: number): SettledCall {
  return { ...rest, outcome, index };
}

/** What a run goes on with, with the sources that it has gathered; given to the first that asks. @throws GatewayError `conflict` */
export function takeLoopCheckpoint({ wait }: RunContext): { loop: LoopCheckpoint; sources: readonly Source[] } | undefined {
  const taken = wait?.resumed?.takeCheckpoint();
  if (taken === undefined) return undefined;
  if (taken.loop['version'] !== 2)
    throw new GatewayError('conflict', 'This run was suspended by another version of the gateway, which cannot go on with it. Ask again.');
  return { loop: taken.loop as unknown as LoopCheckpoint, sources: taken.sources };
}

/** Otherwise the model is requested next. */
export function isAmidRound(loop: LoopCheckpoint | undefined): loop is LoopCheckpoint {
  return loop !== undefined && loop.turn.calls.length > 0;
}

export function turnOf({ turn: { calls, ...said } }: LoopCheckpoint): Turn {
  return { ...said, toolCalls: calls, finishReason: 'tool_calls', isSilent: false };
}

/** What a round goes on with that was suspended amid its calls; nothing in any other. `calls`: those that the gateway runs. */
export function resumedRound(
  loop: LoopCheckpoint | undefined,
  calls: readonly ToolCall[],
  { wait }: RunContext,
): Pick<ToolRound, 'resumed' | 'inner'> {
  if (loop === undefined) return {};
  const resumed = new Map<number, ToolCallResult>();
  for (const { index, ...settled } of loop.settled) {
    const call = calls[index];
    if (call !== undefined) resumed.set(index, { ...settled, call });
  }
  const inner = new Map<number, InnerCall>();
  for (const { index, args, run } of loop.inner ?? [])
    inner.set(index, { args, run, decided: wait?.resumed?.takeInnerDecisions(index) ?? [] });
  return { resumed, inner };
}

/** The calls that wait, those within presets too, each with a unique id: some models number their calls anew, or not at all. */
export function toWaitingCalls(results: readonly ToolCallResult[]): WaitingCall[] {
  const used = new Set<string>();
  function unique(wanted: string): string {
    const short = wanted.slice(0, limits.waitingCallIdCharacters).toWellFormed();
    let id = short;
    for (let number = 2; used.has(id); number += 1) id = `${short}-${number}`;
    used.add(id);
    return id;
  }
  return results.flatMap(({ call, suspended }, index): WaitingCall[] => {
    if (suspended?.type === 'approval') return [{ ...suspended.waiting, id: unique(call.id) }];
    if (suspended?.type !== 'inner') return [];
    const outer = { index, callId: call.id };
    return suspended.wait.calls.map((inner) => ({
      ...inner,
      id: unique(idWithin(call.id, inner.id)),
      within: [outer, ...(inner.within ?? [])],
    }));
  });
}
