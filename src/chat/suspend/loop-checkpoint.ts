import { idWithin } from './nested-call-ids.ts';
import type { ConnectingCall } from '../../core/user-input/connect.ts';
import type { InnerRun, WaitingCall } from '../../core/runs/suspended-run.ts';
import type { ChatMessage, Source, ToolCall } from '../../core/chat/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import type { JsonObject } from '../../shared/json/json.ts';
import type { RunContext } from '../../core/runs/run.ts';
import type { Turn } from '../turns/request-turn.ts';
import type { GuardedCall } from '../tool-calls/duplicate-call-guard.ts';
import type { NamedCall } from '../fit-calls/name-calls.ts';
import type { ToolCallResult } from '../tool-calls/tool-call-result.ts';
import type { ModeChoice } from '../modes/choose-mode.ts';
import type { TaskOfCall } from '../tool-calls/tool-call-scope.ts';
import type { InnerCall, ToolRound } from '../tool-calls/run-round.ts';

/** The id of a waiting call is part of the URL of its decision; some backends put kilobytes of signatures into call ids. */
const waitingCallIdCharacters = 256;

/** The state of the loop of a suspended run. Plain data, so that it outlives the process. */
export interface LoopCheckpoint extends LoopState {
  /** The format version; others are not supported. */
  version: 2;
  /** The turn whose calls wait; without calls if the model is to be requested next. */
  turn: Pick<Turn, 'text' | 'thought' | 'writtenBy'> & { calls: ToolCall[] };
  /** Calls of the turn that have settled. */
  settled: SettledCall[];
  /** Nested preset runs that wait. `args`: their original arguments. */
  inner?: { index: number; args: JsonObject; run: InnerRun }[];
  /** Calls that their servers work on as tasks. */
  tasks?: TaskOfCall[];
}

/** `ran`, `hasTasks`: as `RunRepeat.takeCheckpoint` gives them, for a run that continues a failed one. */
interface TakenCheckpoint<Loop> {
  loop: Loop;
  sources: readonly Source[];
  ran?: readonly string[];
  hasTasks?: boolean;
}

/** The state of the loop apart from the current round. */
export interface LoopState {
  choice: ModeChoice;
  messages: ChatMessage[];
  historyLength: number;
  /** The names of the offered functions, including those found by `find_tools`. */
  tools: string[];
  guardedCalls: GuardedCall[];
  budget: BudgetUse;
  /** The stored results that the model may read with `read_result`, in the order of their references. */
  results: string[];
  isChoiceOpen: boolean;
}

/** What a run has used of its round budget. */
export interface BudgetUse {
  rounds: number;
  /** Absent: none. */
  lookups?: number;
  reasks: number;
  calls: number;
}

/** `index`: the position among the turn's calls that the gateway runs. */
interface SettledCall extends Omit<ToolCallResult, 'call'> {
  index: number;
}

interface RoundAmid {
  turn: Turn;
  calls: ToolCall[];
  /** Undefined for calls that have not settled. */
  results: readonly (ToolCallResult | undefined)[];
  tasks?: readonly TaskOfCall[];
}

/** A checkpoint within a round: some calls wait, or are tasks of their servers, others have results. */
export function amidRound(loop: LoopState, { turn: { text, thought, writtenBy }, calls, results, tasks = [] }: RoundAmid): JsonObject {
  const inner = results.flatMap((result, index) =>
    result?.suspended?.type === 'inner' ? [{ index, args: result.args ?? {}, run: result.suspended.suspension.run }] : [],
  );
  return toJson({
    ...loop,
    version: 2,
    turn: { text, ...(thought !== undefined && { thought }), ...(writtenBy !== undefined && { writtenBy }), calls },
    settled: results.flatMap((result, index) =>
      result !== undefined && result.suspended === undefined ? [toSettledCall(result, index)] : [],
    ),
    ...(inner.length > 0 && { inner }),
    ...(tasks.length > 0 && { tasks: [...tasks] }),
  });
}

/** A checkpoint between two rounds: the model is requested next. */
export function betweenRounds(loop: LoopState): JsonObject {
  return toJson({ ...loop, version: 2, turn: { text: '', calls: [] }, settled: [] });
}

function toJson(checkpoint: LoopCheckpoint): JsonObject {
  return checkpoint as unknown as JsonObject;
}

/** Usage is dropped, because it was emitted when the run was suspended. */
function toSettledCall({ call: _call, outcome: { usage: _usage, ...outcome }, ...rest }: ToolCallResult, index: number): SettledCall {
  return { ...rest, outcome, index };
}

/**
 * Takes the checkpoint of a resumed run with its sources, or of the failed run that this one continues; only the first caller gets it.
 * @throws GatewayError `conflict`
 */
export function takeLoopCheckpoint({ suspension, repeat }: RunContext): TakenCheckpoint<LoopCheckpoint> | undefined {
  const taken: TakenCheckpoint<JsonObject> | undefined = suspension?.resumed?.takeCheckpoint() ?? repeat?.takeCheckpoint();
  if (taken === undefined) return undefined;
  if (taken.loop['version'] !== 2)
    throw new GatewayError(
      'conflict',
      'This run was suspended by another version of the gateway, so this one cannot resume it. Send the chat request again.',
    );
  return { ...taken, loop: taken.loop as unknown as LoopCheckpoint };
}

/** Whether it was taken within a round; otherwise the model is requested next. */
export function isAmidRound(loop: LoopCheckpoint | undefined): loop is LoopCheckpoint {
  return loop !== undefined && loop.turn.calls.length > 0;
}

export function turnOf({ turn: { calls, ...said } }: LoopCheckpoint): Turn {
  return { ...said, toolCalls: calls, finishReason: 'tool_calls', isSilent: false };
}

/** The settled and nested calls of a round that was suspended, and those that are tasks; empty for any other. `calls`: those that the gateway runs. */
export function resumedRound(
  loop: LoopCheckpoint | undefined,
  calls: readonly NamedCall[],
  { suspension }: RunContext,
): Pick<ToolRound, 'resumed' | 'inner' | 'tasks'> {
  if (loop === undefined) return {};
  const resumed = new Map<number, ToolCallResult>();
  for (const { index, ...settled } of loop.settled) {
    const call = calls[index]?.call;
    if (call !== undefined) resumed.set(index, { ...settled, call });
  }
  const inner = new Map<number, InnerCall>();
  for (const { index, args, run } of loop.inner ?? [])
    inner.set(index, { args, run, decided: [...(run.decided ?? []), ...(suspension?.resumed?.takeInnerDecisions(index) ?? [])] });
  return { resumed, inner, tasks: new Map(loop.tasks?.map((task) => [task.index, task])) };
}

/** The calls that need their caller to connect, including nested ones. */
export function toConnectingCalls(results: readonly ToolCallResult[]): ConnectingCall[] {
  return results.flatMap(({ call, suspended }, index): ConnectingCall[] => {
    if (suspended?.type === 'connect') return [suspended.connecting];
    if (suspended?.type !== 'inner') return [];
    const outer = { index, callId: call.id };
    return (suspended.suspension.connect ?? []).map((inner) => ({ ...inner, within: [outer, ...(inner.within ?? [])] }));
  });
}

/** The waiting calls, including nested ones, each with a unique id: some models restart their ids, or send none. */
export function toWaitingCalls(results: readonly ToolCallResult[]): WaitingCall[] {
  const used = new Set<string>();
  function unique(wanted: string): string {
    const short = wanted.slice(0, waitingCallIdCharacters).toWellFormed();
    let id = short;
    for (let number = 2; used.has(id); number += 1) id = `${short}-${number}`;
    used.add(id);
    return id;
  }
  return results.flatMap(({ call, suspended }, index): WaitingCall[] => {
    if (suspended?.type === 'approval') return [{ ...suspended.waiting, id: unique(call.id) }];
    if (suspended?.type !== 'inner') return [];
    const outer = { index, callId: call.id };
    return suspended.suspension.calls.map((inner) => ({
      ...inner,
      id: unique(idWithin(call.id, inner.id)),
      within: [outer, ...(inner.within ?? [])],
    }));
  });
}
