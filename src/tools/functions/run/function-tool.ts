import { userOf } from './user-of.ts';
import { GatewayError } from '../../../core/errors.ts';
import type { RunContext } from '../../../core/runs/run.ts';
import { ToolError, type Tool, type ToolContext, type ToolInvocation, type ToolOutcome, type ToolSpec } from '../../../core/tools/tool.ts';
import { isJsonObject, type JsonObject } from '../../../shared/json/json.ts';
import { toPlainJson } from '../../../shared/json/plain-json.ts';
import { withoutUndefined } from '../../../shared/json/without-undefined.ts';
import type {
  FunctionContext,
  FunctionPlace,
  FunctionState,
  FunctionTool,
  ReadArguments,
  ToolDefinition,
  Verdict,
} from '../define/function-definition.ts';
import { toPublicMessage } from '../define/public-messages.ts';
import { toOutcome } from '../define/return-values.ts';
import type { RegisteredFunction } from '../load/function-registry.ts';
import { asUserCode, toReadable, toUserSignal } from '../load/user-code.ts';
import type { FunctionStates } from './function-state.ts';
import { toPlainArguments } from './plain-arguments.ts';
import { runInThread } from './run-in-thread.ts';

interface FunctionToolOptions {
  offeredName: string;
  states: FunctionStates;
  /** The path of `tools_dir`, from which a worker thread loads the module. */
  folder: string;
}

type FunctionEntry = Pick<RegisteredFunction, 'definition' | 'label' | 'server' | 'module' | 'version'>;

/** Wraps an operator's function as a `Tool`. */
export function createFunctionTool(entry: FunctionEntry, options: FunctionToolOptions): Tool {
  const { definition, label, server, module, version } = entry;
  const { timeoutMs, timeoutBehavior, onError, consumesFiles, needsApproval } = definition.options;
  const { states } = options;
  const { readOnly, parallel, sequential, repeats, idempotent, cacheTtlMs } = definition.options;
  return {
    ...withoutUndefined({
      timeoutMs,
      timeoutBehavior,
      onError: typeof onError === 'function' ? onErrorInContext(entry, onError, states) : onError,
      consumesFiles,
      cacheTtlMs,
      isSequential: sequential,
      isReadOnly: readOnly,
      isParallel: parallel === true || sequential === false ? true : undefined,
      mayRepeat: repeats,
      isIdempotent: idempotent,
      needsApproval: typeof needsApproval === 'function' ? approvalByArguments(entry, needsApproval, states) : needsApproval,
    }),
    spec: specOf(definition, options.offeredName),
    label,
    server,
    kind: 'function',
    async run(invocation, runtime) {
      // Keeps its toolset open until the call has ended.
      const release = version?.hold();
      try {
        return await asUserCode(module.path, () => runFunction(entry, options, { invocation, runtime }));
      } catch (error) {
        throw asToolError(error);
      } finally {
        release?.();
      }
    },
  };
}

/** Cached per function and name, because compiled schemas and token counts are cached by spec object. */
const specs = new WeakMap<FunctionTool, Map<string, ToolSpec>>();

function specOf(definition: FunctionTool, name: string): ToolSpec {
  const known = specs.get(definition) ?? new Map<string, ToolSpec>();
  specs.set(definition, known);
  const { description, parameters, options } = definition;
  const spec = known.get(name) ?? { name, description, parameters, ...withoutUndefined({ strict: options.strict }) };
  // Other names come only from name clashes, which are few; the cap keeps a caller that causes many from filling memory.
  if (known.size < 100) known.set(name, spec);
  return spec;
}

async function runFunction(
  { definition, module }: FunctionEntry,
  { offeredName, states, folder }: FunctionToolOptions,
  { invocation, runtime }: { invocation: ToolInvocation; runtime: ToolContext | undefined },
): Promise<ToolOutcome> {
  const { inputGuardrails, outputGuardrails, worker, execute } = definition.options;
  const { signal } = invocation;
  const plain = await toPlainArguments(invocation.args, definition.parameters, { caller: invocation.run.caller.id, signal });
  const read: ReadArguments =
    plain.type === 'plain' ? await definition.readArguments(plain.args) : { type: 'invalid', message: plain.message };
  if (read.type === 'invalid') {
    const message = `Invalid arguments for '${offeredName}': ${read.message}.`;
    return { type: 'error', code: 'args_invalid', message, state: 'not_started' };
  }
  const args = read.value as never;
  using state = await states.open(invocation.run);
  const context = contextOf(invocation, runtime, state);
  const refusal = await runGuardrails(inputGuardrails, args, { name: offeredName, context });
  if (refusal !== undefined) return refusal;
  signal.throwIfAborted();
  const outcome =
    worker === true
      ? await runInThread({ path: module.path, folder, sources: module.sources, name: definition.name, args }, context, state)
      : toOutcome(await execute(args, context));
  const rejection = await runGuardrails(outputGuardrails, outcome.value, { name: offeredName, context });
  if (rejection !== undefined) return rejection;
  // A call that was cancelled or timed out must not change the state.
  signal.throwIfAborted();
  await state.commit();
  return outcome;
}

/** The run as a function sees it. Messages and files are copied only when they are read. */
export function placeOf({ runId, chatId, caller, preset, model, conversation }: RunContext, state: FunctionPlace['state']): FunctionPlace {
  let messages: FunctionPlace['messages'] | undefined;
  let files: FunctionPlace['files'] | undefined;
  return {
    runId,
    chatId,
    user: userOf(caller),
    preset: preset?.id,
    model,
    state,
    get messages() {
      messages ??= (conversation?.messages ?? []).map(toPublicMessage);
      return messages;
    },
    get files() {
      files ??= (conversation?.files ?? []).map((file) => ({ ...file }));
      return files;
    },
  };
}

/** Without a runtime (in a test or script) status and progress are dropped. */
function contextOf(invocation: ToolInvocation, runtime: ToolContext | undefined, state: FunctionState): FunctionContext {
  let signal: AbortSignal | undefined;
  const context: Omit<FunctionContext, Exclude<keyof FunctionPlace, 'state'>> = {
    get signal() {
      signal ??= toUserSignal(invocation.signal);
      return signal;
    },
    state: { get: (key) => state.get(key), set: (key, value) => state.set(key, value) },
    status: async (text) => runtime?.status(text),
    progress: async (done, total) => runtime?.progress(done, total),
    async say(text: unknown) {
      if (typeof text !== 'string') throw new TypeError(`say: pass a text, not a value of type ${typeof text}`);
      await runtime?.say(text);
    },
    confirm: async (title, message) => requireRuntime(runtime).confirm(title, message),
    async ask(title, question) {
      const answer = await requireRuntime(runtime).ask(title, question);
      return answer === undefined ? undefined : toPlainJson(answer);
    },
    critical: async (work) => (runtime === undefined ? work() : runtime.critical(work)),
    get tools() {
      return runtime?.toolIds() ?? [];
    },
    async updateTools(toolIds: unknown) {
      const isList = Array.isArray(toolIds) && toolIds.every((toolId) => typeof toolId === 'string');
      if (toolIds !== undefined && !isList)
        throw new TypeError('updateTools: pass a list of names as in tool_ids, such as ["function:search"], or undefined');
      await requireChat(runtime).updateTools(isList ? toolIds : undefined);
    },
    async updateInstructions(instructions: unknown) {
      if (instructions !== undefined && typeof instructions !== 'string')
        throw new TypeError('updateInstructions: pass a text, or undefined');
      await requireChat(runtime).updateInstructions(instructions);
    },
    stop: () => runtime?.stop(),
  };
  return Object.defineProperties(placeOf(invocation.run, state), Object.getOwnPropertyDescriptors(context)) as FunctionContext;
}

function requireRuntime(runtime: ToolContext | undefined): ToolContext {
  if (runtime === undefined) throw new ToolError('client_unavailable: the user cannot be asked, because there is no websocket session.');
  return runtime;
}

function requireChat(runtime: ToolContext | undefined): ToolContext {
  if (runtime === undefined) throw new ToolError('There is no chat whose tools or instructions could be changed.');
  return runtime;
}

type Guardrail = (value: never, context: FunctionContext) => Verdict | Promise<Verdict>;

/**
 * Runs guardrails in order; the first objection decides. One that throws lets nothing through: its exception counts as the function's.
 * @throws GatewayError `tool_failed` for `abort`
 */
async function runGuardrails(
  guardrails: readonly Guardrail[] = [],
  value: unknown,
  { name, context }: { name: string; context: FunctionContext },
): Promise<ToolOutcome | undefined> {
  for (const guardrail of guardrails) {
    const verdict: unknown = await guardrail(value as never, context);
    if (verdict === undefined) continue;
    const { reject, abort } = isJsonObject(verdict) ? verdict : {};
    if (typeof abort === 'string') throw new GatewayError('tool_failed', `A guardrail of '${name}' ended the run: ${abort}`);
    if (typeof reject === 'string') return { type: 'error', code: 'tool_error', message: reject };
    throw new TypeError(`a guardrail of ${name} returned neither nothing nor { reject } nor { abort }`);
  }
  return undefined;
}

/** Invalid arguments need no approval, because the call will be refused. */
function approvalByArguments(
  { definition, module }: FunctionEntry,
  needsApproval: Exclude<ToolDefinition['needsApproval'], boolean | undefined>,
  states: FunctionStates,
) {
  return async (args: JsonObject, run: RunContext): Promise<boolean> => {
    const plain = await toPlainArguments(args, definition.parameters, { caller: run.caller.id, signal: run.signal });
    if (plain.type === 'refused') return false;
    const read = await definition.readArguments(plain.args);
    if (read.type !== 'read') return false;
    const place = placeOf(run, await states.read(run));
    // User code may return anything; only an explicit `false` skips the approval.
    const answer: unknown = await asUserCode(module.path, () => needsApproval(read.value as never, place));
    return answer !== false;
  };
}

function onErrorInContext(
  { module }: FunctionEntry,
  onError: Exclude<ToolDefinition['onError'], string | undefined>,
  states: FunctionStates,
) {
  return async (error: unknown, invocation: ToolInvocation, runtime: ToolContext): Promise<string> => {
    using state = await states.open(invocation.run);
    return await asUserCode(module.path, async () => onError(error, contextOf(invocation, runtime, state)));
  };
}

/** The error may come from another copy of the class, of a module's loader or a worker thread, so `instanceof` is not enough. */
function asToolError(thrown: unknown): unknown {
  const error = toReadable(thrown);
  if (error instanceof ToolError || !(error instanceof Error) || error.name !== 'ToolError') return error;
  return new ToolError(error.message, { cause: error });
}
