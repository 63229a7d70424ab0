import { definitionOf } from '../core/approval.ts';
import type { WaitingCall } from '../core/approval.ts';
import type { ChatMessage, Source, ToolCall } from '../core/chat.ts';
import { GatewayError } from '../core/errors.ts';
import type { JsonObject } from '../core/json.ts';
import type { RunContext } from '../core/run.ts';
import type { Tool, ToolOutcome } from '../core/tool.ts';
import type { Turn } from './ask-model.ts';
import type { LedgerEntry } from './call-ledger.ts';
import type { CallReport } from './call-report.ts';
import type { ModeChoice } from './choose-mode.ts';
import type { BudgetUse } from './round-budget.ts';

/** The loop of a run that waits for decisions, amid a round. Plain data, which outlives this process. */
export interface WaitingLoop {
  /** Of this form; another one is not understood. */
  version: 1;
  choice: ModeChoice;
  messages: ChatMessage[];
  historyLength: number;
  /** The turn whose calls wait. */
  turn: { text: string; calls: ToolCall[] };
  /** Calls of the turn that have settled, by their place among those that the gateway runs. */
  settled: SettledCall[];
  /** Names of what was on offer; what was brought in from the shelf is brought in again. */
  tools: string[];
  ledger: LedgerEntry[];
  budget: BudgetUse;
  /** Results that the model may read on in, in the order of their references. */
  results: string[];
  isChoiceOpen: boolean;
}

/** A report without what only this process knows. */
export interface SettledCall extends Omit<CallReport, 'prepared'> {
  place: number;
  isReady: boolean;
  args?: JsonObject;
  tool?: Pick<Tool, 'label' | 'server' | 'kind'> & { name: string };
}

/** What a run goes on with, with the sources that it has gathered; given to the first that asks. @throws GatewayError `conflict` */
export function takeWaitingLoop({ wait }: RunContext): { loop: WaitingLoop; sources: readonly Source[] } | undefined {
  const taken = wait?.resumed?.take();
  if (taken === undefined) return undefined;
  if (taken.loop['version'] !== 1)
    throw new GatewayError('conflict', 'This run was put away by another version of the gateway, which cannot go on with it. Ask again.');
  return { loop: taken.loop as unknown as WaitingLoop, sources: taken.sources };
}

export function toSettledCall(report: CallReport, place: number): SettledCall {
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

export function turnOf({ turn }: WaitingLoop): Turn {
  return { text: turn.text, toolCalls: turn.calls, finishReason: 'tool_calls', isSilent: false };
}

/** By place among `calls`, those of the turn that the gateway runs. */
export function settledIn({ settled }: WaitingLoop, calls: readonly ToolCall[]): Map<number, CallReport> {
  const reports = settled.flatMap((entry): [number, CallReport][] => {
    const call = calls[entry.place];
    return call === undefined ? [] : [[entry.place, toReport(entry, call)]];
  });
  return new Map(reports);
}

function toReport({ place: _place, isReady, args = {}, tool, ...rest }: SettledCall, call: ToolCall): CallReport {
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

/** The calls that wait, each with an id of its own: some models number their calls anew, or not at all. */
export function toWaitingCalls(reports: readonly CallReport[]): WaitingCall[] {
  const used = new Set<string>();
  return reports.flatMap(({ prepared, isWaiting }) => {
    if (isWaiting !== true || prepared.type === 'refused') return [];
    const { call, tool, args } = prepared;
    let id = call.id;
    for (let number = 2; used.has(id); number += 1) id = `${call.id}-${number}`;
    used.add(id);
    const { spec, label } = tool;
    return [{ id, callId: call.id, tool: spec.name, label, args, parameters: spec.parameters, definition: definitionOf(tool) }];
  });
}
