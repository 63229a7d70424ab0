import { idWithin } from './nested-call-ids.ts';
import type { InnerRun, WaitingCall } from '../../core/suspended-run.ts';
import type { ChatMessage, Source, ToolCall } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import type { JsonObject } from '../../shared/json.ts';
import { limits } from '../../core/limits.ts';
import type { RunContext } from '../../core/run.ts';
import type { Tool } from '../../core/tool.ts';
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

/** A result without what only this process knows. `index`: among the calls of the turn that the gateway runs. */
interface SettledCall extends Omit<ToolCallResult, 'prepared' | 'suspended'> {
  index: number;
  isReady: boolean;
  args?: JsonObject;
  tool?: Pick<Tool, 'label' | 'server' | 'kind'> & { name: string };
}

/** A round that has calls which wait, with the results that it has. */
export function amidRound(
  loop: LoopState,
  { turn: { text, thought }, calls, results }: { turn: Turn; calls: ToolCall[]; results: readonly ToolCallResult[] },
): JsonObject {
  const inner = results.flatMap(({ suspended, prepared }, index) =>
    suspended?.type === 'inner' ? [{ index, args: prepared.args ?? {}, run: suspended.wait.run }] : [],
  );
  return toJson({
    ...loop,
    version: 2,
    turn: { text, ...(thought !== undefined && { thought }), calls },
    settled: results.flatMap((result, index) => (result.suspended === undefined ? [toSettledCall(result, index)] : [])),
    ...(inner.length > 0 && { inner }),
  });
}

/** Where a run stands between two rounds: the model is requested next. */
export function betweenRounds(loop: LoopState): JsonObject {
  return toJson({ ...loop, version: 2, turn: { text: '', calls: [] }, settled: [] });
}

function toJson(checkpoint: LoopCheckpoint): JsonObject {
  return checkpoint as unknown as JsonObject;
}

function toSettledCall({ prepared, outcome, ...rest }: ToolCallResult, index: number): SettledCall {
  const { tool, args } = prepared;
  // Its usage was emitted when the run was suspended.
  const { usage: _usage, ...kept } = outcome;
  return {
    ...rest,
    outcome: kept,
    index,
    isReady: prepared.type === 'ready',
    ...(args !== undefined && { args }),
    ...(tool !== undefined && { tool: { name: tool.spec.name, label: tool.label, server: tool.server, kind: tool.kind } }),
  };
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
    if (call !== undefined) resumed.set(index, toResult(settled, call));
  }
  const inner = new Map<number, InnerCall>();
  for (const { index, args, run } of loop.inner ?? [])
    inner.set(index, { args, run, decided: wait?.resumed?.takeInnerDecisions(index) ?? [] });
  return { resumed, inner };
}

function toResult({ isReady, args = {}, tool, ...rest }: Omit<SettledCall, 'index'>, call: ToolCall): ToolCallResult {
  const known = tool && settledTool(tool);
  if (isReady && known !== undefined) return { ...rest, prepared: { type: 'ready', call, tool: known, args, repairs: [] } };
  const code = rest.outcome.type === 'error' ? rest.outcome.code : 'tool_error';
  return { ...rest, prepared: { type: 'refused', call, tool: known, args, code, message: '' } };
}

/** Has run, and never runs again. */
function settledTool({ name, ...tool }: NonNullable<SettledCall['tool']>): Tool {
  return {
    ...tool,
    spec: { name, description: '', parameters: {} },
    run: () => Promise.reject(new Error(`${name} has settled already`)),
  };
}

/** The calls that wait, those within presets too, each with an id of its own: some models number their calls anew, or not at all. */
export function toWaitingCalls(results: readonly ToolCallResult[]): WaitingCall[] {
  const used = new Set<string>();
  function unique(wanted: string): string {
    const short = wanted.slice(0, limits.waitingCallIdCharacters).toWellFormed();
    let id = short;
    for (let number = 2; used.has(id); number += 1) id = `${short}-${number}`;
    used.add(id);
    return id;
  }
  return results.flatMap(({ prepared, suspended }, index): WaitingCall[] => {
    if (prepared.type === 'refused' || suspended === undefined || suspended.type === 'held') return [];
    const { call, tool, args } = prepared;
    if (suspended.type === 'inner') {
      const outer = { index, callId: call.id };
      return suspended.wait.calls.map((each) => ({
        ...each,
        id: unique(idWithin(call.id, each.id)),
        within: [outer, ...(each.within ?? [])],
      }));
    }
    const { name, parameters } = tool.spec;
    const { definition } = suspended;
    return [{ id: unique(call.id), callId: call.id, tool: name, label: tool.label, args, parameters, definition }];
  });
}
