import type { AssistantMessage, ChatMessage } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import type {
  AfterToolDecision,
  BeforeToolDecision,
  Hook,
  HookAbort,
  HookFault,
  HookPlace,
  HookedCall,
  ModelQuestion,
} from '../../core/hooks.ts';
import type { JsonValue } from '../../shared/json.ts';
import type { RunContext } from '../../core/run.ts';

/**
 * All hooks as one, in their order. Every method
 * @throws GatewayError `refused_by_hook` for an abort, `hook_failed` for a failure whose policy ends the run; the run signal's reason
 */
export interface RunHooks {
  readonly asksBeforeModel: boolean;
  readonly asksAfterModel: boolean;
  /** The first answer stands; changed messages go on to the next hook. */
  beforeModel(question: ModelQuestion, run: RunContext): Promise<{ messages: readonly ChatMessage[]; answer?: AssistantMessage }>;
  /** Each sees what the one before it has made; undefined: none has changed anything. */
  afterModel(message: AssistantMessage, run: RunContext): Promise<AssistantMessage | undefined>;
  /** The first result or refusal stands; changed arguments go on to the next hook. */
  beforeTool(call: HookedCall, run: RunContext): Promise<Exclude<BeforeToolDecision, HookAbort>>;
  /** Each sees what the one before it has made; a refusal stands. */
  afterTool(call: HookedCall & { result: JsonValue }, run: RunContext): Promise<Exclude<AfterToolDecision, HookAbort>>;
}

export function createRunHooks(hooks: readonly Hook[], onFault: (fault: HookFault) => void): RunHooks {
  /** One hook within its time. A failure is judged by its policy, an abort ends the run. */
  async function ask<Decision extends { type: string } | undefined>(
    hook: Hook,
    run: RunContext,
    question: (place: HookPlace) => Promise<Decision> | undefined,
  ): Promise<Exclude<Decision, HookAbort> | undefined> {
    run.signal.throwIfAborted();
    const own = new AbortController();
    const { promise: ended, reject } = Promise.withResolvers<never>();
    const end = (reason: unknown): void => {
      own.abort(reason);
      reject(reason);
    };
    const leave = (): void => end(run.signal.reason);
    run.signal.addEventListener('abort', leave, { once: true });
    const timer = setTimeout(() => end(new DOMException(`It took more than ${hook.timeoutMs / 1000} s`, 'TimeoutError')), hook.timeoutMs);
    let decision: Decision | undefined;
    try {
      decision = await Promise.race([question({ run, signal: own.signal }), ended]);
    } catch (error) {
      run.signal.throwIfAborted();
      onFault({ hook: hook.name, runId: run.runId, error });
      if (hook.onFailure === 'ignore') return undefined;
      throw new GatewayError('hook_failed', `The hook "${hook.name}" failed, and its policy ends the run then.`, { cause: error });
    } finally {
      clearTimeout(timer);
      run.signal.removeEventListener('abort', leave);
    }
    if (isAbort(decision)) throw new GatewayError('refused_by_hook', decision.message);
    return decision as Exclude<Decision, HookAbort> | undefined;
  }

  return {
    asksBeforeModel: hooks.some((hook) => hook.beforeModel !== undefined),
    asksAfterModel: hooks.some((hook) => hook.afterModel !== undefined),
    async beforeModel(question, run) {
      let { messages } = question;
      for (const hook of hooks) {
        const decision = await ask(hook, run, (place) => hook.beforeModel?.({ ...question, messages }, place));
        if (decision?.type === 'answer') return { messages, answer: decision.message };
        if (decision?.type === 'messages') messages = decision.messages;
      }
      return { messages };
    },
    async afterModel(message, run) {
      let changed: AssistantMessage | undefined;
      for (const hook of hooks) {
        const decision = await ask(hook, run, (place) => hook.afterModel?.(changed ?? message, place));
        if (decision !== undefined) changed = decision.message;
      }
      return changed;
    },
    async beforeTool(call, run) {
      let changed: Extract<BeforeToolDecision, { type: 'arguments' }> | undefined;
      for (const hook of hooks) {
        if (hook.beforeTool === undefined) continue;
        const decision = await ask(hook, run, (place) => hook.beforeTool?.({ ...call, args: changed?.args ?? call.args }, place));
        if (decision?.type === 'arguments') changed = decision;
        else if (decision !== undefined) return decision;
      }
      return changed;
    },
    async afterTool(call, run) {
      let changed: Extract<AfterToolDecision, { type: 'result' }> | undefined;
      for (const hook of hooks) {
        if (hook.afterTool === undefined) continue;
        const decision = await ask(hook, run, (place) =>
          hook.afterTool?.({ ...call, result: changed === undefined ? call.result : changed.value }, place),
        );
        if (decision?.type === 'result') changed = decision;
        else if (decision !== undefined) return decision;
      }
      return changed;
    },
  };
}

function isAbort(decision: { type: string } | undefined): decision is HookAbort {
  return decision?.type === 'abort';
}
