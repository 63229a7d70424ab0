import pLimit from 'p-limit';
import type { ChatEvent, ToolCall } from '../core/chat.ts';
import type { JsonObject } from '../core/json.ts';
import { limits } from '../core/limits.ts';
import type { Tool } from '../core/tool.ts';
import { sourceOf } from './cite-sources.ts';
import { prepareToolCall } from './prepare-tool-call.ts';
import type { PreparedCall } from './prepare-tool-call.ts';
import { runToolCall } from './run-tool-call.ts';
import type { CallReport, ToolCallSettings } from './run-tool-call.ts';

/**
 * Runs the calls of one round at the same time, at most `limits.parallelToolCalls` of them; reports come in call order.
 * Yields `tool.call` for all of them first, then results and sources. One failing call never harms its siblings.
 */
export async function* runTools(
  calls: readonly ToolCall[],
  tools: ReadonlyMap<string, Tool>,
  settings: ToolCallSettings,
): AsyncGenerator<ChatEvent, CallReport[]> {
  const prepared = calls.map((call, index) => (index < limits.callsPerRound ? prepareToolCall(call, tools) : overflow(call)));
  for (const call of prepared) yield { type: 'run-event', event: { type: 'tool.call', data: callData(call) } };

  const gate = pLimit(limits.parallelToolCalls);
  const running = prepared.map((call) => gate(() => runToolCall(call, settings)));
  // Each rejection is the caller's leave and is met below; a later one must not count as unhandled meanwhile.
  for (const report of running) report.catch(() => undefined);

  const reports: CallReport[] = [];
  for (const pending of running) {
    const report = await pending;
    reports.push(report);
    yield { type: 'run-event', event: { type: 'tool.result', data: resultData(report) } };
    const source = sourceOf(report);
    if (source !== undefined) yield { type: 'source', source };
  }
  return reports;
}

function overflow(call: ToolCall): PreparedCall {
  const message = `More than ${limits.callsPerRound} calls in one turn: this one was not run. Call it again in the next turn.`;
  return { type: 'refused', call, tool: undefined, code: 'tool_error', message };
}

function callData(prepared: PreparedCall): JsonObject {
  const { call, tool } = prepared;
  const args = prepared.type === 'ready' ? prepared.args : call.arguments.slice(0, 2_000);
  const repairs = prepared.type === 'ready' && prepared.repairs.length > 0 ? { repairs: prepared.repairs } : {};
  return { id: call.id, tool: tool?.spec.name ?? call.name, args, server: tool?.server ?? null, ...repairs };
}

function resultData({ prepared, outcome, durationMs }: CallReport): JsonObject {
  const head = { id: prepared.call.id, tool: prepared.tool?.spec.name ?? prepared.call.name, duration_ms: durationMs };
  if (outcome.type === 'error') return { ...head, error: { code: outcome.code, message: outcome.message } };
  return { ...head, response: outcome.value, ...(outcome.isTruncated === true ? { truncated: true } : {}) };
}
