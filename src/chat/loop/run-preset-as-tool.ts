import { idWithin } from '../suspend/nested-call-ids.ts';
import type { ChatEvent, ChatRequest, Usage } from '../../core/chat/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import { plainRequest } from '../../core/chat/plain-request.ts';
import { refusalAsText } from '../../core/chat/refusal.ts';
import type { PresetRecord } from '../../core/stores/preset.ts';
import type { ModelRequestLog } from '../../core/models/model-request-log.ts';
import type { CallRegistry, RunContext } from '../../core/runs/run.ts';
import type { EventType, RunEvent } from '../../core/chat/run-event.ts';
import type { TraceOfRun } from '../../core/runs/trace.ts';
import type { RunSubAgent, ToolContext, ToolInvocation, ToolOutcome } from '../../core/tools/tool.ts';
import { addUsage } from '../../core/chat/usage.ts';
import { runAsPreset, type PresetServices } from './run-as-preset.ts';
import type { Emit } from '../../shared/async/emit.ts';
import { asSentence } from '../../shared/text/as-sentence.ts';
import { nestedSuspension } from '../suspend/nested-suspension.ts';
import { presetDepth } from './apply-preset.ts';

/** The interval of the progress events that show the user that the preset is at work. */
const heartbeatMs = 1_000;

/**
 * Runs a preset as a tool: a nested run with its own limits, whose usage is added to the outer run's. Its events are emitted among the outer run's,
 * and if one of its calls needs approval, the outer run waits too. A preset that is already running in this chain is refused: two presets that call
 * each other would never end.
 */
export function createSubAgentRunner(servicesOf: () => PresetServices): RunSubAgent {
  return async (preset, invocation, context) => {
    const { run, signal, resumed } = invocation;
    const path = [...(run.nested?.path ?? []), ...(run.preset === undefined ? [] : [run.preset.id])];
    const refusal = refusalOf(preset, path);
    if (refusal !== undefined) return refusal;
    const output: NestedOutput = { text: resumed?.run.text ?? '', called: [] };
    const request = resumed?.run.request ?? requestTo(preset, invocation);
    const suspension = run.suspension === undefined ? undefined : nestedSuspension(request, resumed, () => output.text);
    const calls = run.calls && callsWithin(run.calls, invocation.callId);
    const say = context && ((text: string): Promise<void> => context.say(text));
    const { hold, release } = holdWithin(run);
    const within = { nested: { path, say }, preset, signal, suspension, repeat: undefined, transcript: undefined, hold };
    const modelRequests = run.modelRequests && requestsWithin(run.modelRequests, invocation.callId);
    const trace = run.trace && traceWithin(run.trace, invocation.callId);
    const inner: RunContext = {
      ...run,
      ...within,
      ...(calls && { calls }),
      ...(modelRequests && { modelRequests }),
      ...(trace && { trace }),
    };
    const services = servicesOf();
    const outerCall = { callId: invocation.callId, context, now: services.now };
    try {
      await runAsPreset(
        request,
        { run: inner, services },
        forwardEvents(output, outerCall, () => suspension?.isSuspended === true),
      );
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof GatewayError) return failure(`${asSentence(error.message)}${describeCalls(output)}`, output);
      throw error;
    } finally {
      release();
    }
    if (suspension?.waiting !== undefined) {
      context?.waitFor(suspension.waiting);
      const tools = suspension.waiting.calls.map(({ tool }) => `'${tool}'`).join(', ');
      const message = `The assistant needs a person's approval of ${tools}. This request cannot wait for one, so the assistant has not finished.`;
      return { ...failure(`${message}${describeCalls(output)}`, output), code: 'approval_required' };
    }
    if (output.text.trim() === '') return failure(`The assistant gave no answer.${describeCalls(output)}`, output);
    return { type: 'result', value: output.text, ...spentBy(output) };
  };
}

/** The text and calls of the nested run. */
interface NestedOutput {
  text: string;
  usage?: Usage;
  /** Names of functions that returned a result. */
  called: string[];
}

function requestTo({ id }: PresetRecord, { args }: ToolInvocation): ChatRequest {
  const content = typeof args['request'] === 'string' ? args['request'] : '';
  return plainRequest({ model: id, messages: [{ role: 'user', content }], stream: true });
}

function refusalOf({ id }: PresetRecord, path: readonly string[]): ToolOutcome | undefined {
  if (!path.includes(id) && path.length < presetDepth) return undefined;
  const reason = path.includes(id) ? 'is already running in this call' : 'is nested too deeply';
  return {
    type: 'error',
    code: 'tool_error',
    message: `The assistant "${id}" ${reason} (${[...path, id].join(' -> ')}). Answer without it.`,
  };
}

function failure(message: string, output: NestedOutput): Extract<ToolOutcome, { type: 'error' }> {
  return { type: 'error', code: 'tool_error', message, ...spentBy(output) };
}

function spentBy({ usage }: NestedOutput): { usage?: Usage } {
  return usage === undefined ? {} : { usage };
}

/** A retry should know which calls have already been made. */
function describeCalls({ called }: NestedOutput): string {
  return called.length === 0 ? '' : ` Before that it had called: ${[...new Set(called)].join(', ')}.`;
}

/** A nested run counts for the outer one until its end. */
function holdWithin({ hold }: RunContext): { hold: RunContext['hold']; release: () => void } {
  let held = 0;
  return {
    hold(characters) {
      hold?.(characters);
      held += characters;
    },
    release: () => hold?.(-held),
  };
}

/** Nested calls are cancelled by the id under which clients see them. */
function callsWithin(calls: CallRegistry, outer: string): CallRegistry {
  return { register: (callId, cancel) => calls.register(idWithin(outer, callId), cancel) };
}

function traceWithin(trace: TraceOfRun, outer: string): TraceOfRun {
  return { headersOf: (callId, protocol) => trace.headersOf(idWithin(outer, callId), protocol) };
}

/** Tags each model request with the call in which it was made. */
function requestsWithin(log: ModelRequestLog, outer: string): ModelRequestLog {
  return {
    begin({ within, ...data }, sent, provider) {
      return log.begin({ ...data, within: typeof within === 'string' ? idWithin(outer, within) : outer }, sent, provider);
    },
  };
}

/** The call that runs the preset. */
interface OuterCall {
  callId: string;
  context: ToolContext | undefined;
  now: () => number;
}

/** Collects the nested run's text and forwards its events. The outer run itself reports that it waits. */
function forwardEvents(output: NestedOutput, { callId, context, now }: OuterCall, isSuspended: () => boolean): Emit<ChatEvent> {
  let shownAt = now();

  async function show(events: readonly RunEvent[]): Promise<void> {
    for (const event of events) {
      noteCall(event, output);
      if (!eventsOfCall.has(event.type)) await context?.emit(nestEvent(event, callId));
      if (event.type !== 'tool.call') continue;
      await context?.status(`uses ${event.data.tool}`);
      shownAt = now();
    }
    if (now() - shownAt < heartbeatMs) return;
    shownAt = now();
    await context?.progress(output.text.length);
  }

  return (events) => {
    const runEvents: RunEvent[] = [];
    for (const event of events.map(refusalAsText)) {
      if (event.type === 'text' && !isSuspended()) output.text += event.text;
      else if (event.type === 'usage') output.usage = addUsage(output.usage, event.usage);
      else if (event.type === 'run-event') runEvents.push(event.event);
    }
    return runEvents.length > 0 || now() - shownAt >= heartbeatMs ? show(runEvents) : undefined;
  };
}

function noteCall(event: RunEvent, { called }: NestedOutput): void {
  if (event.type === 'tool.result' && event.data.error === undefined) called.push(event.data.tool);
}

/** Not forwarded: the events of the outer call already show start, end and progress. */
const eventsOfCall: ReadonlySet<EventType> = new Set(['run.start', 'run.end', 'tool.progress']);

/** `id` and `within` show the path from the outermost call inwards, so that the event is not taken for the outer run's own. */
function nestEvent({ type, data }: RunEvent, callId: string): RunEvent {
  const within = data.within === undefined ? callId : idWithin(callId, data.within);
  const id = 'id' in data && typeof data.id === 'string' ? { id: idWithin(callId, data.id) } : {};
  return { type, data: { ...data, ...id, within } } as RunEvent;
}
