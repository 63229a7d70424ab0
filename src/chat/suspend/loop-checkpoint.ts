import { idWithin } from './nested-call-ids.ts';
import type { DecidedCall, InnerRun, WaitingCall } from '../../core/suspended-run.ts';
import type { ChatMessage, Source, ToolCall } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import type { JsonObject } from '../../shared/json.ts';
import { limits } from '../../core/limits.ts';
import type { RunContext } from '../../core/run.ts';
import type { Tool, ToolOutcome } from '../../core/tool.ts';
import type { Turn } from '../loop/request-model.ts';
import type { GuardedCall } from '../tool-calls/duplicate-call-guard.ts';
import type { ToolCallResult } from '../tool-calls/tool-call-result.ts';
import type { ModeChoice } from '../modes/choose-mode.ts';
import type { BudgetUse } from '../loop/round-budget.ts';
import type { InnerCall, ToolRound } from '../tool-calls/run-round.ts';

/** The loop of a run that waits for decisions, amid a round. Plain data, which outlives this process. */
export interface LoopCheckpoint {
  /** Of this form; another one is not understood. */
  version: 1;
  choice: ModeChoice;
  messages: ChatMessage[];
  historyLength: number;
  /** The turn whose calls wait; without calls where the model is to be asked next. */
  turn: Pick<Turn, 'text' | 'thought'> & { calls: ToolCall[] };
  /** Calls of the turn that have settled, by their place among those that the gateway runs. */
  settled: SettledCall[];
  /** Presets among them that wait amid their work. `args`: as they were called. */
  inner?: { place: number; args: JsonObject; run: InnerRun }[];
  /** Names of what was on offer; what was brought in from the shelf is brought in again. */
  tools: string[];
  ledger: GuardedCall[];
  budget: BudgetUse;
  /** Results that the model may read on in, in the order of their references. */
  results: string[];
  isChoiceOpen: boolean;
}

/** A report without what only this process knows. */
export interface SettledCall extends Omit<ToolCallResult, 'prepared' | 'isWaiting' | 'isHeld' | 'inner'> {
  place: number;
  isReady: boolean;
  args?: JsonObject;
  tool?: Pick<Tool, 'label' | 'server' | 'kind'> & { name: string };
}

/** What a run goes on with, with the sources that it has gathered; given to the first that asks. @throws GatewayError `conflict` */
export function takeLoopCheckpoint({ wait }: RunContext): { loop: LoopCheckpoint; sources: readonly Source[] } | undefined {
  const taken = wait?.resumed?.take();
  if (taken === undefined) return undefined;
  if (taken.loop['version'] !== 1)
    throw new GatewayError('conflict', 'This run was put away by another version of the gateway, which cannot go on with it. Ask again.');
  return { loop: taken.loop as unknown as LoopCheckpoint, sources: taken.sources };
}

export function toSettledCall(report: ToolCallResult, place: number): SettledCall {
  const { prepared, ...rest } = report;
  const { tool, args } = prepared;
  return {
    ...rest,
    outcome: withoutUsage(rest.outcome),
    place,
    isReady: prepared.type === 'ready',
    ...(args !== undefined && { args }),
    ...(tool !== undefined && { tool: { name: tool.spec.name, label: tool.label, server: tool.server, kind: tool.kind } }),
  };
}

/** It was told when the run was put away. */
function withoutUsage({ usage: _usage, ...outcome }: ToolOutcome): ToolOutcome {
  return outcome;
}

/** Otherwise the model is to be asked next. */
export function isAmidRound(loop: LoopCheckpoint | undefined): loop is LoopCheckpoint {
  return loop !== undefined && loop.turn.calls.length > 0;
}

export function turnOf({ turn }: LoopCheckpoint): Turn {
  return { ...saidIn(turn), toolCalls: turn.calls, finishReason: 'tool_calls', isSilent: false };
}

/** What of a turn its message is made of, beside the calls. */
export function saidIn({ text, thought }: Pick<Turn, 'text' | 'thought'>): Pick<Turn, 'text' | 'thought'> {
  return { text, ...(thought !== undefined && { thought }) };
}

/** What a round goes on with that was put away amid its calls; nothing in any other. `calls`: those that the gateway runs. */
export function resumedRound(
  loop: LoopCheckpoint | undefined,
  calls: readonly ToolCall[],
  { wait }: RunContext,
): Pick<ToolRound, 'resumed' | 'inner'> {
  if (loop === undefined) return {};
  const decidedAt = (place: number): DecidedCall[] => wait?.resumed?.takeWithin(place) ?? [];
  const inner = (loop.inner ?? []).map(({ place, args, run }): [number, InnerCall] => [place, { args, run, decided: decidedAt(place) }]);
  return { resumed: settledIn(loop, calls), inner: new Map(inner) };
}

/** By place among `calls`, those of the turn that the gateway runs. */
function settledIn({ settled }: LoopCheckpoint, calls: readonly ToolCall[]): Map<number, ToolCallResult> {
  const reports = settled.flatMap((entry): [number, ToolCallResult][] => {
    const call = calls[entry.place];
    return call === undefined ? [] : [[entry.place, toReport(entry, call)]];
  });
  return new Map(reports);
}

function toReport({ place: _place, isReady, args = {}, tool, ...rest }: SettledCall, call: ToolCall): ToolCallResult {
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
export function toWaitingCalls(reports: readonly ToolCallResult[]): WaitingCall[] {
  const used = new Set<string>();
  function own(wanted: string): string {
    const short = wanted.slice(0, limits.waitingCallIdCharacters).toWellFormed();
    let id = short;
    for (let number = 2; used.has(id); number += 1) id = `${short}-${number}`;
    used.add(id);
    return id;
  }
  return reports.flatMap((report, place) => {
    const { prepared, isWaiting, inner, definition = '' } = report;
    if (isWaiting !== true || prepared.type === 'refused') return [];
    const { call, tool, args } = prepared;
    if (inner !== undefined) {
      const here = { place, callId: call.id };
      return inner.calls.map((each) => ({ ...each, id: own(idWithin(call.id, each.id)), within: [here, ...(each.within ?? [])] }));
    }
    const { spec, label } = tool;
    return [{ id: own(call.id), callId: call.id, tool: spec.name, label, args, parameters: spec.parameters, definition }];
  });
}
