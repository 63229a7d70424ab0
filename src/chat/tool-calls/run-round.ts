import type { ResumedInner } from '../../core/suspended-run.ts';
import type { ChatEvent, ToolCall } from '../../core/chat.ts';
import type { JsonObject } from '../../shared/json.ts';
import { limits } from '../../core/limits.ts';
import type { CallRegistry } from '../../core/run.ts';
import type { Tool, ToolFile } from '../../core/tool.ts';
import type { ToolCallResult, ToolCallScope, ToolCallSettings } from './tool-call-result.ts';
import { sourceOf } from '../results/cite-sources.ts';
import { createLiveEvents } from '../loop/live-events.ts';
import { createPendingCall } from './pending-call.ts';
import type { PendingCall } from './pending-call.ts';
import { prepareToolCall } from './prepare-tool-call.ts';
import type { PreparedCall } from './prepare-tool-call.ts';
import { orderOf, scheduleCalls } from './schedule-calls.ts';
import type { ScheduledCall } from './schedule-calls.ts';

export interface ToolRound {
  tools: ReadonlyMap<string, Tool>;
  settings: ToolCallSettings;
  /** Kept over the rounds of a run. */
  around: ToolCallScope;
  /** How many calls the run may still make. Default: as many as a round may have. */
  callsLeft?: number;
  /** Of the function that brings others in, where there is one. */
  finderName?: string | undefined;
  /** A round that was put away amid its calls: those that had settled, by place. The others were told and counted then. */
  resumed?: ReadonlyMap<number, ToolCallResult>;
  /** The same for presets that were amid their work, by place. */
  inner?: ReadonlyMap<number, InnerCall>;
}

/** `args`: as it was called. */
export interface InnerCall extends ResumedInner {
  args: JsonObject;
}

/**
 * Runs the calls of one round; reports come in call order. Yields `tool.call` for all of them first, then progress, results and sources.
 * One failing call never harms its siblings, and every call is reported, also when the run is left.
 * @throws the run signal's reason after the reports; GatewayError `tool_failed`.
 */
export async function* runRound(calls: readonly ToolCall[], round: ToolRound): AsyncGenerator<ChatEvent, ToolCallResult[]> {
  const { settings } = round;
  const { signal, calls: registry } = settings.run;
  const live = createLiveEvents();
  const prepared: PreparedCall[] = [];
  for (const [index, call] of calls.entries()) prepared.push(await prepareInRound(call, index, round));
  const pending = prepared.map((call, place) => {
    const settled = round.resumed?.get(place);
    if (settled !== undefined) return settledCall(settled);
    const inner = round.inner?.get(place);
    return createPendingCall(call, settings, { ...round.around, live, ...(inner && { inner }) });
  });
  const forget = pending.map((call) => registerCall(call, registry));
  const leave = (): void => pending.forEach((call) => call.end({ type: 'left' }));
  signal.addEventListener('abort', leave, { once: true });
  try {
    if (round.resumed === undefined) {
      yield* limitEvents(calls.length, round);
      for (const call of prepared) yield { type: 'run-event', event: { type: 'tool.call', data: callData(call) } };
    }
    if (signal.aborted) leave();
    void scheduleCalls(toScheduled(pending, prepared, round));
    const reports: ToolCallResult[] = [];
    for (const call of pending) {
      const report = yield* live.until(call.report);
      const isOld = round.resumed?.has(reports.length) === true;
      reports.push(report);
      if (!isOld && !isUnfinished(report)) yield* toolCallEvents(report);
    }
    signal.throwIfAborted();
    return reports;
  } finally {
    signal.removeEventListener('abort', leave);
    for (const forgetCall of forget) forgetCall();
    leave();
    live.close();
  }
}

function settledCall(report: ToolCallResult): PendingCall {
  return {
    call: report.prepared.call,
    report: Promise.resolve(report),
    approve: async () => 'over',
    start: async () => 'over',
    hold: () => undefined,
    end: () => undefined,
  };
}

/** Until it has settled, a call can be cancelled from elsewhere. Gives what ends that earlier. */
function registerCall(call: PendingCall, registry: CallRegistry | undefined): () => void {
  const forget = registry?.register(call.call.id, () => call.end({ type: 'cancelled' })) ?? ((): void => undefined);
  call.report.then(forget, forget);
  return forget;
}

/**
 * Approvals are asked for at once, except for a call that its like before it may make one too many: whether it may run is known when those have
 * ended.
 */
function toScheduled(pending: readonly PendingCall[], prepared: readonly PreparedCall[], { around, resumed }: ToolRound): ScheduledCall[] {
  const toRun = prepared.map((call, place) => (call.type === 'ready' && resumed?.has(place) !== true ? call : undefined));
  const mayObject = around.ledger?.mayObject(toRun);
  return pending.map((call, place): ScheduledCall => {
    const own = toRun[place];
    return {
      // What has settled already need not wait for its turn.
      order: own === undefined ? 'parallel' : orderOf(own.tool),
      isCheckedLate: mayObject?.[place] === true,
      check: (onAsked) => call.approve(onAsked),
      run: () => call.start(),
      hold: () => call.hold(),
    };
  });
}

async function prepareInRound(
  call: ToolCall,
  index: number,
  { tools, settings, resumed, inner, finderName, callsLeft = limits.callsPerRound }: ToolRound,
): Promise<PreparedCall> {
  const code = 'tool_error';
  if (index >= limits.callsPerRound) {
    const message = `More than ${limits.callsPerRound} calls in one turn: this one was not run. Call it again in the next turn.`;
    return { type: 'refused', call, tool: undefined, code, message };
  }
  if (index >= callsLeft) {
    const message = `More than ${limits.callsPerRun} calls in one answer: this one was not run. Answer with what is known.`;
    return { type: 'refused', call, tool: undefined, code, message };
  }
  const prepared = await prepareToolCall(call, tools, { ...settings.run, finderName });
  if (resumed === undefined) return prepared;
  if (prepared.type === 'refused') return prepared.code === 'tool_not_found' ? goneTool(prepared) : prepared;
  return { ...prepared, args: inner?.get(index)?.args ?? prepared.args };
}

function goneTool(prepared: PreparedCall): PreparedCall {
  const message = `'${prepared.call.name}' is no longer offered, so its call, which waited for approval, was not run.`;
  return { ...prepared, type: 'refused', code: 'tool_not_found', message };
}

function* limitEvents(count: number, { callsLeft = limits.callsPerRound }: ToolRound): Generator<ChatEvent> {
  if (count > limits.callsPerRound) yield limitReached('calls_per_round', limits.callsPerRound);
  if (Math.min(count, limits.callsPerRound) > callsLeft) yield limitReached('calls_per_run', limits.callsPerRun);
}

export function limitReached(limit: string, value: number, more: JsonObject = {}): ChatEvent {
  return { type: 'run-event', event: { type: 'limit.reached', data: { limit, value, ...more } } };
}

function callData(prepared: PreparedCall): JsonObject {
  const { call, tool } = prepared;
  const args = prepared.args ?? call.arguments.slice(0, 2_000);
  const repairs = prepared.type === 'ready' && prepared.repairs.length > 0 ? { repairs: prepared.repairs } : {};
  return { id: call.id, tool: tool?.spec.name ?? call.name, args, server: tool?.server ?? null, ...repairs };
}

/** It goes on in another request, together with the rest of its round. */
export function isUnfinished({ isWaiting, isHeld }: ToolCallResult): boolean {
  return isWaiting === true || isHeld === true;
}

export function* toolCallEvents(report: ToolCallResult): Generator<ChatEvent> {
  yield { type: 'run-event', event: { type: 'tool.result', data: resultData(report) } };
  if (report.cutFromBytes !== undefined) {
    const value = Buffer.byteLength(report.text);
    yield limitReached('result_bytes', value, { id: report.prepared.call.id, bytes: report.cutFromBytes, code: 'output_truncated' });
  }
  const source = sourceOf(report);
  if (source !== undefined) yield { type: 'source', source };
}

/** For a client that shows it. A large one is named only: an event is a line, and is kept with its run. */
function fileData({ type, name, sizeBytes, url }: ToolFile): JsonObject {
  const isShown = url.length <= limits.eventFileCharacters;
  return { type, size_bytes: sizeBytes, ...(name !== undefined && { name }), ...(isShown && { url }) };
}

function resultData({ prepared, outcome, durationMs, attempts, isByHook }: ToolCallResult): JsonObject {
  const name = prepared.tool?.spec.name ?? prepared.call.name;
  const head = { id: prepared.call.id, tool: name, duration_ms: durationMs, ...(attempts > 1 && { attempts }) };
  if (outcome.type === 'error') {
    const { code, message, state } = outcome;
    return { ...head, error: { code, message, ...(state !== undefined && { state }) } };
  }
  return {
    ...head,
    response: outcome.value,
    ...(outcome.isTruncated === true && { truncated: true }),
    ...(outcome.files !== undefined && { files: outcome.files.map(fileData) }),
    ...(isByHook === true ? { hook: true } : attempts === 0 && { cached: true }),
  };
}
