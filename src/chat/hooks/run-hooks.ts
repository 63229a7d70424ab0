import type { AssistantMessage, ChatMessage } from '../../core/chat/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import type {
  AfterToolDecision,
  BeforeToolDecision,
  Hook,
  HookAbort,
  HookFault,
  HookInvocation,
  HookedCall,
  HookedModelRequest,
  HookedPurpose,
} from '../../core/runs/hooks.ts';
import type { JsonValue } from '../../shared/json.ts';
import type { RunContext } from '../../core/runs/run.ts';

/**
 * Runs the hooks of a run in order: all but those of other presets. Every method @throws GatewayError `refused_by_hook` for an abort, `hook_failed` for a failure whose policy is to end the
 * run; the run signal's reason
 */
export interface RunHooks {
  hasBeforeModel(run: RunContext): boolean;
  hasAfterModel(run: RunContext): boolean;
  /** The first answer wins; changed messages are passed to the next hook. */
  beforeModel(request: HookedModelRequest, run: RunContext): Promise<{ messages: readonly ChatMessage[]; answer?: AssistantMessage }>;
  /** Each hook gets the output of the previous one; undefined: nothing was changed. */
  afterModel(message: AssistantMessage, purpose: HookedPurpose, run: RunContext): Promise<AssistantMessage | undefined>;
  /** The first result or refusal wins; changed arguments are passed to the next hook. */
  beforeTool(call: HookedCall, run: RunContext): Promise<Exclude<BeforeToolDecision, HookAbort>>;
  /** Each hook gets the output of the previous one; a refusal ends the chain. */
  afterTool(call: HookedCall & { result: JsonValue }, run: RunContext): Promise<Exclude<AfterToolDecision, HookAbort>>;
}

export function createRunHooks(hooks: readonly Hook[], onFault: (fault: HookFault) => void): RunHooks {
  /** Runs one hook within its time limit. Its policy decides about a failure; an abort ends the run. */
  async function runHook<Decision extends { type: string } | undefined>(
    { name, timeoutMs, onFailure }: Hook,
    { run, purpose }: Pick<HookInvocation, 'run' | 'purpose'>,
    decide: (invocation: HookInvocation) => Promise<Decision> | undefined,
  ): Promise<Exclude<Decision, HookAbort> | undefined> {
    run.signal.throwIfAborted();
    const signal = AbortSignal.any([run.signal, AbortSignal.timeout(timeoutMs)]);
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    let decision: Decision | undefined;
    try {
      decision = await Promise.race([decide({ run, signal, purpose }), aborted]);
    } catch (error) {
      run.signal.throwIfAborted();
      onFault({ hook: name, runId: run.runId, error });
      if (onFailure === 'ignore') return undefined;
      throw new GatewayError('hook_failed', `The hook "${name}" failed, and its policy is to end the run.`, { cause: error });
    }
    if (isAbort(decision)) throw new GatewayError('refused_by_hook', decision.message);
    return decision as Exclude<Decision, HookAbort> | undefined;
  }

  const hooksOf = (run: RunContext): readonly Hook[] => hooks.filter(({ presets }) => isMeant(presets, run));

  return {
    hasBeforeModel: (run) => hooksOf(run).some((hook) => hook.beforeModel !== undefined),
    hasAfterModel: (run) => hooksOf(run).some((hook) => hook.afterModel !== undefined),
    async beforeModel(request, run) {
      let { messages } = request;
      for (const hook of hooksOf(run)) {
        const decision = await runHook(hook, { run, purpose: request.purpose }, (invocation) =>
          hook.beforeModel?.({ ...request, messages }, invocation),
        );
        if (decision?.type === 'answer') return { messages, answer: decision.message };
        if (decision?.type === 'messages') messages = decision.messages;
      }
      return { messages };
    },
    async afterModel(message, purpose, run) {
      let changed: AssistantMessage | undefined;
      for (const hook of hooksOf(run)) {
        const decision = await runHook(hook, { run, purpose }, (invocation) => hook.afterModel?.(changed ?? message, invocation));
        if (decision !== undefined) changed = decision.message;
      }
      return changed;
    },
    async beforeTool({ name, args }, run) {
      let changed: Extract<BeforeToolDecision, { type: 'arguments' }> | undefined;
      for (const hook of hooksOf(run)) {
        const decision = await runHook(hook, { run }, (invocation) => hook.beforeTool?.({ name, args: changed?.args ?? args }, invocation));
        if (decision?.type === 'arguments') changed = decision;
        else if (decision !== undefined) return decision;
      }
      return changed;
    },
    async afterTool({ result, ...call }, run) {
      let changed: Extract<AfterToolDecision, { type: 'result' }> | undefined;
      for (const hook of hooksOf(run)) {
        const value = changed === undefined ? result : changed.value;
        const decision = await runHook(hook, { run }, (invocation) => hook.afterTool?.({ ...call, result: value }, invocation));
        if (decision?.type === 'result') changed = decision;
        else if (decision !== undefined) return decision;
      }
      return changed;
    },
  };
}

function isMeant(presets: Hook['presets'], { presetIds = [] }: RunContext): boolean {
  return presets === undefined || presetIds.some((id) => presets.includes(id));
}

function isAbort(decision: { type: string } | undefined): decision is HookAbort {
  return decision?.type === 'abort';
}
