import type { JsonObject } from '../../../shared/json.ts';
import { ToolError } from '../../../core/tool.ts';
import type { Tool, ToolContext, ToolInvocation, ToolOutcome, ToolSpec } from '../../../core/tool.ts';
import type { ChatStates, OpenedState } from './function-state.ts';
import { contextOf } from './function-context.ts';
import type { FunctionContext, FunctionTool } from '../define/function-definition.ts';
import { toOutcome } from '../define/return-values.ts';
import { objectionOf } from './run-guardrails.ts';
import { asUserCode } from '../load/user-code.ts';

/** How `execute` is run: here, or in a thread. */
export type Execute = (args: unknown, context: FunctionContext, state: OpenedState) => unknown;

export interface FunctionToolOptions {
  definition: FunctionTool;
  offeredName: string;
  /** Under which its results are cited. */
  label: string;
  server: string;
  states: ChatStates;
  /** The file of its module, for what it leaves behind. */
  path: string;
  execute: Execute;
  /** Called around each call, so that what the function needs is not closed meanwhile; gives the way back. */
  hold?: () => () => void;
}

/** A function of this process behind the port that the loop knows. */
export function createFunctionTool(options: FunctionToolOptions): Tool {
  const { definition, offeredName, label, server, path, hold } = options;
  const { timeoutMs, timeoutBehavior, onError, consumesFiles, needsApproval } = definition.options;
  const { readOnly, parallel, sequential, repeats, idempotent, cacheTtlMs } = definition.options;
  return {
    spec: specOf(definition, offeredName),
    label,
    server,
    kind: 'function',
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(timeoutBehavior !== undefined && { timeoutBehavior }),
    ...(onError !== undefined && { onError }),
    ...(sequential !== undefined && { isSequential: sequential }),
    ...(readOnly !== undefined && { isReadOnly: readOnly }),
    ...((parallel === true || sequential === false) && { isParallel: true }),
    ...(repeats !== undefined && { mayRepeat: repeats }),
    ...(idempotent !== undefined && { isIdempotent: idempotent }),
    ...(cacheTtlMs !== undefined && { cacheTtlMs }),
    ...(consumesFiles !== undefined && { consumesFiles }),
    ...(needsApproval !== undefined && {
      needsApproval: typeof needsApproval === 'boolean' ? needsApproval : askOfArguments(definition, needsApproval),
    }),
    async run(invocation, runtime) {
      const release = hold?.();
      try {
        return await asUserCode(path, () => runFunction(options, invocation, runtime));
      } catch (error) {
        throw asToolError(error);
      } finally {
        release?.();
      }
    },
  };
}

/** The same object for the same function and name: who compiles or measures a spec does it once. */
const specs = new WeakMap<FunctionTool, Map<string, ToolSpec>>();

function specOf(definition: FunctionTool, name: string): ToolSpec {
  const known = specs.get(definition) ?? new Map<string, ToolSpec>();
  specs.set(definition, known);
  const { description, parameters, options } = definition;
  const spec = known.get(name) ?? { name, description, parameters, ...(options.strict !== undefined && { strict: options.strict }) };
  // Names come from clashes alone, which are few; a caller that makes many must not fill memory.
  if (known.size < 100) known.set(name, spec);
  return spec;
}

async function runFunction(
  { definition, states, execute, offeredName }: FunctionToolOptions,
  invocation: ToolInvocation,
  runtime: ToolContext | undefined,
): Promise<ToolOutcome> {
  const { inputGuardrails, outputGuardrails } = definition.options;
  const read = await definition.readArguments(invocation.args);
  if (read.type === 'invalid') {
    return {
      type: 'error',
      code: 'args_invalid',
      message: `Invalid arguments for '${offeredName}': ${read.message}.`,
      state: 'not_started',
    };
  }
  const state = await states.open(invocation.run);
  const context = contextOf(invocation, runtime, state);
  const guarded = { name: offeredName, context };
  const refused = await objectionOf(inputGuardrails, read.value, guarded);
  if (refused !== undefined) return refused;
  invocation.signal.throwIfAborted();
  const outcome = toOutcome(await execute(read.value, context, state));
  // Whoever has cancelled the call, or was told that it took too long, must not find its traces.
  invocation.signal.throwIfAborted();
  await state.commit();
  return (await objectionOf(outputGuardrails, outcome.value, guarded)) ?? outcome;
}

/** Arguments that the schema refuses do not run, so nobody is asked about them. */
function askOfArguments(definition: FunctionTool, ask: Exclude<FunctionTool['options']['needsApproval'], boolean | undefined>) {
  return async (args: JsonObject): Promise<boolean> => {
    const read = await definition.readArguments(args);
    if (read.type === 'invalid') return false;
    const answer: unknown = await ask(read.value);
    // In JavaScript anything may come; what is no clear no is asked.
    return answer !== false;
  };
}

/** The class may be another copy's: a module's loader, or a thread's. */
function asToolError(error: unknown): unknown {
  if (error instanceof ToolError || !(error instanceof Error) || error.name !== 'ToolError') return error;
  return new ToolError(error.message, { cause: error });
}
