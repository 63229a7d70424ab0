import type { ResumedInner } from '../../core/runs/suspended-run.ts';
import type { ChatEvent } from '../../core/chat/chat.ts';
import type { Emit } from '../../shared/async/emit.ts';
import type { DataOf } from '../../core/chat/run-event.ts';
import type { JsonObject } from '../../shared/json/json.ts';
import { limits } from '../../core/limits.ts';
import { canBeAsked } from '../../core/runs/run.ts';
import type { Tool, ToolFile } from '../../core/tools/tool.ts';
import type { ToolCallResult } from './tool-call-result.ts';
import type { RoundScope, TaskOfCall, ToolCallScope, ToolCallSettings } from './tool-call-scope.ts';
import { sourceOf } from './cite-sources.ts';
import type { NamedCall } from '../fit-calls/name-calls.ts';
import { prepareNamedCall, type PreparedCall } from './prepare-tool-call.ts';
import { queueEvents } from './queue-events.ts';
import { runToolCall } from './run-tool-call.ts';
import { RoundTasks, type KeepTasks } from './context/round-tasks.ts';
import { orderOf, scheduleCalls, type CallInRound } from './schedule-calls.ts';

/** A file in an event, as a `data:` URI: large enough for a picture, not for an archive. */
const eventFileCharacters = 1_400_000;

export interface ToolRound {
  tools: ReadonlyMap<string, Tool>;
  settings: ToolCallSettings;
  scope: RoundScope;
  /** Makes events of what a function says in the answer; absent if the answer is no text. */
  toParagraph?: ((text: string) => ChatEvent[]) | undefined;
  /** The calls that the run may still make. Default: the limit of a round. */
  callsLeft?: number;
  /** The calls that a run may make, for messages. */
  callsPerRun?: number;
  /** The name of the tool that finds deferred functions, if there is one. */
  finderName?: string | undefined;
  /** For a resumed round: the calls that have settled, by index. The others were emitted and counted before the suspension. */
  resumed?: ReadonlyMap<number, ToolCallResult>;
  /** For a resumed round: the preset calls that were suspended, by index. */
  inner?: ReadonlyMap<number, InnerCall>;
  /** For a round that continues after a restart: the calls that are tasks, by index. */
  tasks?: ReadonlyMap<number, TaskOfCall>;
  /** Absent: the round cannot be continued after a restart. */
  keepTasks?: KeepTasks | undefined;
}

/** `args`: the original arguments. */
export interface InnerCall extends ResumedInner {
  args: JsonObject;
}

/**
 * Runs the calls of one round; results are in call order. Emits `tool.call` for all of them first, then progress, and each result with its source as
 * soon as the call has ended. A failing call does not affect the others, and every call gets a result, even if the run is aborted.
 * @throws GatewayError as `runToolCall`; what `emit` throws
 */
export async function runRound(calls: readonly NamedCall[], round: ToolRound, emit: Emit<ChatEvent>): Promise<ToolCallResult[]> {
  const { settings, resumed, toParagraph } = round;
  // In parallel, because a check in a worker may take long.
  const prepared = await Promise.all(calls.map((named, index) => prepareInRound(named, index, round)));

  const queue = queueEvents(emit);
  const end = new AbortController();
  const scope: ToolCallScope = {
    ...round.scope,
    holdsRequests: isSuspendable(settings) && prepared.some(({ type, tool }) => type === 'ready' && tool.whyNotReady !== undefined),
    signal: AbortSignal.any([settings.run.signal, end.signal]),
    emit: (event) => queue.emit([{ type: 'run-event', event }]),
    ...(toParagraph && { say: (text) => queue.emit(toParagraph(text)) }),
  };
  const { slots, open } = scheduleCalls(callsInRound(prepared, round));
  const tasks = roundTasksOf(round, calls.length);
  const running = prepared.map(async (call, index): Promise<ToolCallResult> => {
    const slot = slots[index];
    const inner = round.inner?.get(index);
    const task = tasks?.of(index, round.tasks?.get(index)?.task);
    const settled = resumed?.get(index);
    if (settled !== undefined) {
      slot?.end('over');
      return settled;
    }
    const own: ToolCallScope = { ...scope, ...(slot && { slot }), ...(inner && { inner }), ...(task && { task }) };
    const result = await runToolCall(call, settings, own);
    if (result.suspended === undefined) await queue.emit(resultEvents(result));
    return result;
  });
  // Rejects as soon as any call ends the run, whatever its position.
  const all = Promise.all(running);
  // Prevents an unhandled rejection while the events of the calls are emitted.
  all.catch(() => undefined);
  const unlessFailed = <Value>(work: Promise<Value>): Promise<Value> => Promise.race([work, queue.failed]);
  try {
    if (resumed === undefined) await unlessFailed(queue.emit([...limitEvents(calls.length, round), ...callEvents(prepared, settings)]));
    // This run has a log of its own, and the stream of another request.
    else if (settings.run.repeat !== undefined) await unlessFailed(queue.emit(callEvents(unsettled(prepared, resumed), settings)));
    open();
    const results = await unlessFailed(all);
    await unlessFailed(queue.close());
    return results;
  } finally {
    end.abort();
    void queue.close();
  }
}

function roundTasksOf({ keepTasks, resumed, settings }: ToolRound, calls: number): RoundTasks | undefined {
  if (keepTasks === undefined) return undefined;
  const results = Array.from({ length: calls }, (_, index) => resumed?.get(index));
  return new RoundTasks(keepTasks, results, settings.run.signal);
}

function unsettled(prepared: readonly PreparedCall[], resumed: ReadonlyMap<number, ToolCallResult>): PreparedCall[] {
  return prepared.filter((_, index) => !resumed.has(index));
}

/**
 * Approvals are requested at once, except for a call that may be blocked as a duplicate: that is known only after equal calls before it have ended.
 */
function callsInRound(prepared: readonly PreparedCall[], { scope, resumed }: ToolRound): CallInRound[] {
  const toRun = prepared.map((call, index) => (call.type === 'ready' && resumed?.has(index) !== true ? call : undefined));
  const mayObject = scope.guard?.mayObject(toRun);
  return toRun.map((call, index) => ({ order: orderOf(call?.tool), isCheckedLate: mayObject?.[index] === true }));
}

async function prepareInRound(
  named: NamedCall,
  index: number,
  { tools, settings, resumed, inner, tasks, finderName, callsLeft = limits.callsPerRound, callsPerRun = limits.callsPerRun }: ToolRound,
): Promise<PreparedCall> {
  const { call } = named;
  const refuse = (message: string): PreparedCall => ({ type: 'refused', call, tool: undefined, code: 'tool_error', message });
  if (index >= limits.callsPerRound)
    return refuse(`More than ${limits.callsPerRound} calls in one turn: this one was not run. Call it again in the next turn.`);
  if (index >= callsLeft)
    return refuse(
      `More than ${callsPerRun === 1 ? 'one call' : `${callsPerRun} calls`} in one answer: this one was not run. Answer with what is known.`,
    );
  const prepared = await prepareNamedCall(named, tools, { ...settings.run, finderName });
  if (resumed === undefined) return prepared;
  const task = tasks?.get(index);
  const args = (inner?.get(index) ?? task)?.args;
  // The arguments with which the call was started, which a person may have changed.
  if (prepared.type === 'ready') return args === undefined ? prepared : { ...prepared, args, given: args };
  if (prepared.code !== 'tool_not_found') return prepared;
  const message =
    task === undefined
      ? `'${call.name}' is no longer offered, so the waiting call was not run.`
      : `'${call.name}' is no longer offered, so the result of its task is not known. The call may have taken effect.`;
  return { ...prepared, message };
}

function limitEvents(count: number, { callsLeft = limits.callsPerRound, callsPerRun = limits.callsPerRun }: ToolRound): ChatEvent[] {
  return [
    ...(count > limits.callsPerRound ? [limitReached('calls_per_round', limits.callsPerRound)] : []),
    ...(Math.min(count, limits.callsPerRound) > callsLeft ? [limitReached('calls_per_run', callsPerRun)] : []),
  ];
}

export function limitReached(limit: string, value: number, more: Omit<DataOf<'limit.reached'>, 'limit' | 'value'> = {}): ChatEvent {
  return { type: 'run-event', event: { type: 'limit.reached', data: { limit, value, ...more } } };
}

/** Calls after one that may need a person may wait with it, unless they only read. */
function callEvents(calls: readonly PreparedCall[], settings: ToolCallSettings): ChatEvent[] {
  let isBehind = false;
  return calls.map((prepared) => {
    const isFirst = needsPerson(prepared, settings);
    const mayWait = isFirst || (isBehind && prepared.type === 'ready' && orderOf(prepared.tool) !== 'reading');
    isBehind ||= isFirst;
    return callEvent(prepared, mayWait);
  });
}

function callEvent(prepared: PreparedCall, mayWait: boolean): ChatEvent {
  const { call, tool } = prepared;
  const args = (prepared.type === 'ready' ? prepared.given : prepared.args) ?? call.arguments.slice(0, 2_000);
  const repairs = prepared.type === 'ready' && prepared.repairs.length > 0 ? { repairs: prepared.repairs } : {};
  const data = { id: call.id, tool: tool?.spec.name ?? call.name, args, server: tool?.server ?? null, ...repairs };
  return { type: 'run-event', event: { type: 'tool.call', data }, ...(mayWait && { mayWait: true }) };
}

/** Whether the run is suspended when a person is needed. */
function isSuspendable({ run }: ToolCallSettings): boolean {
  return run.suspension !== undefined && !canBeAsked(run);
}

/** Whether a gate may need a person: to approve the call, by a rule of the run or the tool's own, or to connect to its server. */
function needsPerson({ type, tool }: PreparedCall, { approvals, connecting, run }: ToolCallSettings): boolean {
  if (type !== 'ready') return false;
  if (connecting !== undefined && tool?.whyNotReady !== undefined) return true;
  if (approvals === undefined) return false;
  const { approvalRule = false } = run;
  return approvalRule !== false || (tool?.needsApproval ?? false) !== false;
}

export function resultEvents(result: ToolCallResult): ChatEvent[] {
  const events: ChatEvent[] = [{ type: 'run-event', event: { type: 'tool.result', data: resultData(result) } }];
  if (result.cutFromBytes !== undefined) {
    const bytes = { id: result.call.id, bytes: result.cutFromBytes, code: 'output_truncated' };
    events.push(limitReached('result_bytes', Buffer.byteLength(result.text), bytes));
  }
  const source = sourceOf(result);
  return source === undefined ? events : [...events, { type: 'source', source }];
}

export function usageEvents(results: readonly ToolCallResult[]): ChatEvent[] {
  return results.flatMap(({ outcome: { usage } }): ChatEvent[] => (usage === undefined ? [] : [{ type: 'usage', usage }]));
}

/** File data for clients. A large file is only named, because an event is one line, and is stored with its run. */
function fileData({ type, name, sizeBytes, url }: ToolFile): JsonObject {
  const isShown = url.length <= eventFileCharacters;
  return { type, size_bytes: sizeBytes, ...(name !== undefined && { name }), ...(isShown && { url }) };
}

function resultData({ call, tool, outcome, durationMs, attempts, isByHook }: ToolCallResult): DataOf<'tool.result'> {
  const head = { id: call.id, tool: tool?.name ?? call.name, duration_ms: durationMs, ...(attempts > 1 && { attempts }) };
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
