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
} from '../../core/tools/hooks.ts';
import type { JsonValue } from '../../shared/json/json.ts';
import type { RunContext } from '../../core/runs/run.ts';

/**
 * Runs the hooks of a run in order, except those for other presets.
 * Every method @throws GatewayError `refused_by_hook` for an abort, `hook_failed` for a failure whose policy is to end the run; the run signal's reason
 */
export class RunHooks {
  readonly #hooks: readonly Hook[];
  readonly #onFault: (fault: HookFault) => void;

  constructor(hooks: readonly Hook[], onFault: (fault: HookFault) => void) {
    this.#hooks = hooks;
    this.#onFault = onFault;
  }

  hasBeforeModel(run: RunContext): boolean {
    return this.#hooksOf(run).some((hook) => hook.beforeModel !== undefined);
  }

  hasAfterModel(run: RunContext): boolean {
    return this.#hooksOf(run).some((hook) => hook.afterModel !== undefined);
  }

  /** The first answer wins; changed messages are passed to the next hook. */
  async beforeModel(
    request: HookedModelRequest,
    run: RunContext,
  ): Promise<{ messages: readonly ChatMessage[]; answer?: AssistantMessage }> {
    let { messages } = request;
    const { purpose } = request;
    for (const hook of this.#hooksOf(run)) {
      const decision = await this.#decide(hook, { run, purpose }, (invocation) => hook.beforeModel?.({ ...request, messages }, invocation));
      if (decision?.type === 'answer') return { messages, answer: decision.message };
      if (decision?.type === 'messages') messages = decision.messages;
    }
    return { messages };
  }

  /** Each hook gets the output of the previous one; undefined: nothing was changed. */
  async afterModel(message: AssistantMessage, purpose: HookedPurpose, run: RunContext): Promise<AssistantMessage | undefined> {
    let changed: AssistantMessage | undefined;
    for (const hook of this.#hooksOf(run)) {
      const decision = await this.#decide(hook, { run, purpose }, (invocation) => hook.afterModel?.(changed ?? message, invocation));
      if (decision !== undefined) changed = decision.message;
    }
    return changed;
  }

  /** The first result or refusal wins; changed arguments are passed to the next hook. */
  async beforeTool({ name, args }: HookedCall, run: RunContext): Promise<Exclude<BeforeToolDecision, HookAbort>> {
    let changed: Extract<BeforeToolDecision, { type: 'arguments' }> | undefined;
    for (const hook of this.#hooksOf(run)) {
      const call = { name, args: changed?.args ?? args };
      const decision = await this.#decide(hook, { run }, (invocation) => hook.beforeTool?.(call, invocation));
      if (decision?.type === 'arguments') changed = decision;
      else if (decision !== undefined) return decision;
    }
    return changed;
  }

  /** Each hook gets the output of the previous one; a refusal ends the chain. */
  async afterTool(
    { result, ...call }: HookedCall & { result: JsonValue },
    run: RunContext,
  ): Promise<Exclude<AfterToolDecision, HookAbort>> {
    let changed: Extract<AfterToolDecision, { type: 'result' }> | undefined;
    for (const hook of this.#hooksOf(run)) {
      const value = changed === undefined ? result : changed.value;
      const decision = await this.#decide(hook, { run }, (invocation) => hook.afterTool?.({ ...call, result: value }, invocation));
      if (decision?.type === 'result') changed = decision;
      else if (decision !== undefined) return decision;
    }
    return changed;
  }

  #hooksOf(run: RunContext): readonly Hook[] {
    return this.#hooks.filter(({ presets }) => appliesTo(presets, run));
  }

  /** Runs one hook within its time limit. Its policy decides about a failure; an abort ends the run. */
  async #decide<Decision extends { type: string } | undefined>(
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
      this.#onFault({ hook: name, runId: run.runId, error });
      if (onFailure === 'ignore') return undefined;
      throw new GatewayError('hook_failed', `The hook "${name}" failed, and its policy is to end the run.`, { cause: error });
    }
    if (isAbort(decision)) throw new GatewayError('refused_by_hook', decision.message);
    return decision as Exclude<Decision, HookAbort> | undefined;
  }
}

function appliesTo(presets: Hook['presets'], { presetIds = [] }: RunContext): boolean {
  return presets === undefined || presetIds.some((id) => presets.includes(id));
}

function isAbort(decision: { type: string } | undefined): decision is HookAbort {
  return decision?.type === 'abort';
}
