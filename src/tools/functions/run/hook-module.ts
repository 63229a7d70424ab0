import { toHookContext } from './hook-context.ts';
import type { FunctionStates } from './function-state.ts';
import type { Hook, HookAbort, HookInvocation } from '../../../core/tools/hooks.ts';
import { isJsonObject, type JsonObject } from '../../../shared/json/json.ts';
import { toPlainJson, withNumbersOf } from '../../../shared/json/plain-json.ts';
import type { ToolSpec } from '../../../core/tools/tool.ts';
import { isHookAnswer, type HookContext } from '../define/hook-answers.ts';
import { fromPublicMessage, toAssistantMessage, toPublicMessage } from '../define/public-messages.ts';
import { toJson } from '../define/return-values.ts';
import { asUserCode, toReadable } from '../load/user-code.ts';

const hookNames = ['beforeModel', 'afterModel', 'beforeTool', 'afterTool'] as const;
type HookName = (typeof hookNames)[number];
type HookFunction = (input: unknown, context: HookContext) => unknown;
type Exports = Readonly<Record<string, unknown>>;

interface HookEntry {
  /** The path of the module in the configuration. */
  name: string;
  timeoutMs: number;
  /** Takes precedence over the module's own `onFailure`. */
  onFailure: 'ignore' | 'abort' | undefined;
}

export interface HookServices {
  states: Pick<FunctionStates, 'read'>;
  newCallId: () => string;
}

/** Makes a `Hook` of a module's exports. @throws TypeError if there is no hook, or an export with a hook's name is not a function */
export function toHook({ name, timeoutMs, onFailure }: HookEntry, exported: Exports, { states, newCallId }: HookServices): Hook {
  const exports: Exports = isJsonObject(exported['default']) ? { ...exported['default'], ...exported } : exported;
  const { beforeModel, afterModel, beforeTool, afterTool } = readHookFunctions(name, exports);
  const onFailureOfModule = readOnFailure(name, exports);
  const presets = readPresets(name, exports);
  const hook: Hook = { name, timeoutMs, onFailure: onFailure ?? onFailureOfModule, ...(presets && { presets }) };
  const contextOf = async (invocation: HookInvocation): Promise<HookContext> =>
    toHookContext(invocation, await states.read(invocation.run));
  const toAnswer = (value: unknown) => ({ type: 'answer' as const, message: toAssistantMessage(value, newCallId) });
  const toResult = (value: unknown) => ({ type: 'result' as const, value: toJson(value) });
  if (beforeModel !== undefined) {
    hook.beforeModel = async ({ model, messages, tools }, scope) => {
      const input = { model, messages: messages.map(toPublicMessage), tools: tools.map(toPublicTool) };
      const answer = await beforeModel(input, await contextOf(scope));
      if (isHookAnswer(answer) && answer.type === 'messages')
        return { type: 'messages', messages: answer.messages.map((message) => fromPublicMessage(message, newCallId)) };
      return toDecision(answer, 'beforeModel', toAnswer);
    };
  }
  if (afterModel !== undefined) {
    hook.afterModel = async (message, scope) =>
      toDecision(await afterModel({ message: toPublicMessage(message) }, await contextOf(scope)), 'afterModel', toAnswer);
  }
  if (beforeTool !== undefined) {
    hook.beforeTool = ({ name: tool, args }, scope) =>
      orReject(async () => {
        const answer = await beforeTool({ name: tool, arguments: toPlainJson(args) }, await contextOf(scope));
        if (isHookAnswer(answer) && answer.type === 'arguments')
          return { type: 'arguments', args: withNumbersOf(args, requireObject(answer.args)) as JsonObject };
        return toDecision(answer, 'beforeTool', toResult);
      });
  }
  if (afterTool !== undefined) {
    hook.afterTool = ({ name: tool, args, result }, scope) =>
      orReject(async () => {
        const input = { name: tool, arguments: toPlainJson(args), result: toPlainJson(result) };
        return toDecision(await afterTool(input, await contextOf(scope)), 'afterTool', (value) => ({
          type: 'result' as const,
          value: withNumbersOf(result, toJson(value)),
        }));
      });
  }
  return hook;
}

function readHookFunctions(module: string, exports: Exports): Partial<Record<HookName, HookFunction>> {
  const functions: Partial<Record<HookName, HookFunction>> = {};
  for (const hookName of hookNames) {
    const value = exports[hookName];
    if (value === undefined) continue;
    if (typeof value !== 'function') throw new TypeError(`${module}: ${hookName} is not a function`);
    const hook = value as HookFunction;
    functions[hookName] = async (input, context) => {
      try {
        return await asUserCode(module, () => hook(input, context));
      } catch (error) {
        throw toReadable(error);
      }
    };
  }
  if (Object.keys(functions).length === 0)
    throw new TypeError(`${module} exports no hook; export one of these functions: ${hookNames.join(', ')}`);
  return functions;
}

function readOnFailure(module: string, { onFailure = 'abort' }: Exports): 'ignore' | 'abort' {
  if (onFailure !== 'ignore' && onFailure !== 'abort') throw new TypeError(`${module}: onFailure must be "ignore" or "abort"`);
  return onFailure;
}

function readPresets(module: string, { presets }: Exports): string[] | undefined {
  if (presets === undefined) return undefined;
  const isList = Array.isArray(presets) && presets.length > 0 && presets.every((id) => typeof id === 'string' && id !== '');
  if (!isList) throw new TypeError(`${module}: presets must be a list of ids, such as ["clerk"]; leave it out for all chats`);
  return [...(presets as string[])];
}

/** `toValue` converts a plain return value. `undefined` means that the hook returned nothing; `null` is a valid result. */
function toDecision<Decision>(
  answer: unknown,
  hookName: HookName,
  toValue: (value: unknown) => Decision,
): Decision | HookAbort | undefined {
  if (answer === undefined) return undefined;
  if (!isHookAnswer(answer)) return toValue(answer);
  if (answer.type === 'abort') return { type: 'abort', message: answer.message };
  throw new TypeError(`${answer.type === 'arguments' ? 'changeArguments' : 'changeMessages'} cannot be returned from ${hookName}`);
}

/** A thrown `ToolError` is a message for the model, not a failure of the hook. */
async function orReject<Decision>(work: () => Promise<Decision>): Promise<Decision | { type: 'reject'; message: string }> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Error && error.name === 'ToolError') return { type: 'reject', message: error.message };
    throw error;
  }
}

function requireObject(args: unknown): JsonObject {
  const json = toJson(args);
  if (!isJsonObject(json)) throw new TypeError('changeArguments expects an object');
  return json;
}

function toPublicTool({ name, description, parameters }: ToolSpec): JsonObject {
  return toPlainJson({ type: 'function', function: { name, description, parameters } }) as JsonObject;
}
