import { idWithin } from '../suspend/nested-call-ids.ts';
import type { ChatEvent, ChatRequest, Usage } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import { plainRequest } from '../../core/plain-request.ts';
import type { PresetBook, PresetRecord } from '../../core/preset.ts';
import type { CallRegistry, RunContext } from '../../core/run.ts';
import type { EventType, RunEvent } from '../../core/run-event.ts';
import type { AskPreset, ToolContext, ToolInvocation, ToolOutcome } from '../../core/tool.ts';
import { addUsage } from '../../core/usage.ts';
import { runAsPreset } from './run-as-preset.ts';
import type { ChatServices } from './answer-chat.ts';
import type { Emit } from '../../shared/emit.ts';
import { asSentence } from './as-sentence.ts';
import { nestedSuspension } from '../suspend/nested-suspension.ts';

/** A sign of life this often keeps the caller's idle limit away. */
const signMs = 1_000;

/**
 * Runs a preset as a tool: a run within the run, with its own limits, whose usage is added to the outer one's. What it does is emitted among the
 * outer run's events, and where one of its calls needs an approval the outer run waits with it. A preset that is at work already is not called
 * again: two that call each other never answer.
 */
export function createSubAgentRunner(servicesOf: () => ChatServices & { presets: PresetBook }): AskPreset {
  return async (preset, invocation, context) => {
    const { run, signal, resumed } = invocation;
    const path = [...(run.presetPath ?? []), ...(run.preset === undefined ? [] : [run.preset.id])];
    const refusal = refusalOf(preset, path);
    if (refusal !== undefined) return refusal;
    const said: Said = { text: resumed?.run.text ?? '', called: [] };
    const request = resumed?.run.request ?? requestTo(preset, invocation);
    const wait = run.wait === undefined ? undefined : nestedSuspension(request, resumed, () => said.text);
    const calls = run.calls && callsWithin(run.calls, invocation.callId);
    const inner: RunContext = { ...run, presetPath: path, preset, signal, wait, ...(calls && { calls }) };
    const services = servicesOf();
    const thinking = pauseWhileAsked(context);
    const outside = { callId: invocation.callId, context, thinking, now: services.now };
    try {
      await runAsPreset(
        request,
        { run: inner, services },
        emitInto(said, outside, () => wait?.isSuspended === true),
      );
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof GatewayError) return failure(`${asSentence(error.message)}${wordsOn(said)}`, said);
      throw error;
    } finally {
      thinking.end();
    }
    if (wait?.waiting !== undefined) {
      context?.waitFor(wait.waiting);
      const tools = wait.waiting.calls.map(({ tool }) => `'${tool}'`).join(', ');
      const message = `The assistant has to wait for a human's approval of ${tools}, which is not possible just now; it has not finished.`;
      return { ...failure(`${message}${wordsOn(said)}`, said), code: 'approval_required' };
    }
    if (said.text.trim() === '') return failure(`The assistant gave no answer.${wordsOn(said)}`, said);
    return { type: 'result', value: said.text, ...spentBy(said) };
  };
}

/** What the run within has said and done. */
interface Said {
  text: string;
  usage?: Usage;
  /** Names of functions that gave a result. */
  called: string[];
}

function requestTo({ id }: PresetRecord, { args }: ToolInvocation): ChatRequest {
  const content = typeof args['request'] === 'string' ? args['request'] : '';
  return plainRequest({ model: id, messages: [{ role: 'user', content }], stream: true });
}

function refusalOf({ id }: PresetRecord, path: readonly string[]): ToolOutcome | undefined {
  if (!path.includes(id) && path.length < limits.presetDepth) return undefined;
  const reason = path.includes(id) ? 'is at work in this call already' : 'would be one too many within another';
  return {
    type: 'error',
    code: 'tool_error',
    message: `The assistant "${id}" ${reason} (${[...path, id].join(' -> ')}). Answer without it.`,
  };
}

function failure(message: string, said: Said): Extract<ToolOutcome, { type: 'error' }> {
  return { type: 'error', code: 'tool_error', message, ...spentBy(said) };
}

function spentBy({ usage }: Said): { usage?: Usage } {
  return usage === undefined ? {} : { usage };
}

/** Whoever asks again should know what is done already. */
function wordsOn({ called }: Said): string {
  return called.length === 0 ? '' : ` Before that it had called: ${[...new Set(called)].join(', ')}.`;
}

/** A call within is cancelled by the id under which it is shown. */
function callsWithin(calls: CallRegistry, outer: string): CallRegistry {
  return { register: (callId, cancel) => calls.register(idWithin(outer, callId), cancel) };
}

interface Outside {
  callId: string;
  context: ToolContext | undefined;
  thinking: ReturnType<typeof pauseWhileAsked>;
  now: () => number;
}

/** Keeps what is said, and shows what is done among the outer run's events. What it says about its waiting is said by the outer run. */
function emitInto(said: Said, { callId, context, thinking, now }: Outside, isSuspended: () => boolean): Emit<ChatEvent> {
  let shownAt = now();

  async function show(events: readonly RunEvent[]): Promise<void> {
    for (const event of events) {
      thinking.note(event);
      noteCall(event, said);
      if (!eventsOfCall.has(event.type)) await context?.emit(nested(event, callId));
      if (event.type !== 'tool.call') continue;
      await context?.status(`uses ${nameIn(event)}`);
      shownAt = now();
    }
    if (now() - shownAt < signMs) return;
    shownAt = now();
    await context?.progress(said.text.length);
  }

  return (events) => {
    const runEvents: RunEvent[] = [];
    for (const event of events) {
      if (event.type === 'text' && !isSuspended()) said.text += event.text;
      else if (event.type === 'usage') said.usage = addUsage(said.usage, event.usage);
      else if (event.type === 'run-event') runEvents.push(event.event);
    }
    return runEvents.length > 0 || now() - shownAt >= signMs ? show(runEvents) : undefined;
  };
}

/** A human who is asked over a session may think for long: while an approval within is awaited, no limit of the call runs. */
function pauseWhileAsked(context: ToolContext | undefined): { note(event: RunEvent): void; end(): void } {
  const asked = new Set<unknown>();
  let goOn: (() => void) | undefined;
  function end(): void {
    goOn?.();
    goOn = undefined;
  }
  return {
    note({ type, data: { id } }) {
      if (type === 'approval.request') asked.add(id);
      if (type === 'approval.response' || type === 'tool.result') asked.delete(id);
      if (asked.size > 0) goOn ??= context?.pause();
      else end();
    },
    end,
  };
}

function noteCall(event: RunEvent, { called }: Said): void {
  if (event.type === 'tool.result' && event.data['error'] === undefined) called.push(nameIn(event));
}

function nameIn({ data: { tool } }: RunEvent): string {
  return typeof tool === 'string' ? tool : 'a tool';
}

/** Its beginning and end are those of the call, and its progress is shown as the call's. */
const eventsOfCall: ReadonlySet<EventType> = new Set(['run.start', 'run.end', 'tool.progress']);

/** `id` and `within` lead from the outermost call inwards, so that nothing is taken for the outer run's own. */
function nested({ type, data }: RunEvent, callId: string): RunEvent {
  const { id, within } = data;
  return {
    type,
    data: {
      ...data,
      ...(typeof id === 'string' && { id: idWithin(callId, id) }),
      within: typeof within === 'string' ? idWithin(callId, within) : callId,
    },
  };
}
