import type { Hook, HookAbort, HookInvocation } from '../../../core/hooks.ts';
import { isJsonObject } from '../../../shared/json.ts';
import type { JsonObject } from '../../../shared/json.ts';
import type { ToolSpec } from '../../../core/tool.ts';
import { isHookAnswer } from '../define/hook-answers.ts';
import type { HookContext } from '../define/hook-answers.ts';
import { fromPublicMessage, toAssistantMessage, toPublicMessage } from '../define/public-messages.ts';
import { toJson } from '../define/return-values.ts';
import { asUserCode, toUserSignal } from '../load/user-code.ts';

const hookNames = ['beforeModel', 'afterModel', 'beforeTool', 'afterTool'] as const;
type HookName = (typeof hookNames)[number];
type HookFunction = (input: unknown, context: HookContext) => unknown;
type Exports = Readonly<Record<string, unknown>>;

export interface HookEntry {
  /** The module, as the configuration names it. */
  name: string;
  timeoutMs: number;
  /** Comes before what the module says. */
  onFailure: 'ignore' | 'abort' | undefined;
}

/** The exports of a module as hooks. @throws TypeError when there is none, or something else under a hook's name */
export function toHook({ name, timeoutMs, onFailure }: HookEntry, exported: Exports, newCallId: () => string): Hook {
  const exports: Exports = isJsonObject(exported['default']) ? { ...exported['default'], ...exported } : exported;
  const { beforeModel, afterModel, beforeTool, afterTool } = readHookFunctions(name, exports);
  const stated = readOnFailure(name, exports);
  const hook: Hook = { name, timeoutMs, onFailure: onFailure ?? stated };
  const toAnswer = (value: unknown) => ({ type: 'answer' as const, message: toAssistantMessage(value, newCallId) });
  const toResult = (value: unknown) => ({ type: 'result' as const, value: toJson(value) });
  if (beforeModel !== undefined) {
    hook.beforeModel = async ({ model, messages, tools }, scope) => {
      const input = { model, messages: messages.map(toPublicMessage), tools: tools.map(toPublicTool) };
      const answer = await beforeModel(input, contextOf(scope));
      if (isHookAnswer(answer) && answer.type === 'messages')
        return { type: 'messages', messages: answer.messages.map((message) => fromPublicMessage(message, newCallId)) };
      return toDecision(answer, 'beforeModel', toAnswer);
    };
  }
  if (afterModel !== undefined) {
    hook.afterModel = async (message, scope) =>
      toDecision(await afterModel({ message: toPublicMessage(message) }, contextOf(scope)), 'afterModel', toAnswer);
  }
  if (beforeTool !== undefined) {
    hook.beforeTool = ({ name: tool, args }, scope) =>
      orReject(async () => {
        const answer = await beforeTool({ name: tool, arguments: structuredClone(args) }, contextOf(scope));
        if (isHookAnswer(answer) && answer.type === 'arguments') return { type: 'arguments', args: requireObject(answer.args) };
        return toDecision(answer, 'beforeTool', toResult);
      });
  }
  if (afterTool !== undefined) {
    hook.afterTool = ({ name: tool, args, result }, scope) =>
      orReject(async () => {
        const input = { name: tool, arguments: structuredClone(args), result: structuredClone(result) };
        return toDecision(await afterTool(input, contextOf(scope)), 'afterTool', toResult);
      });
  }
  return hook;
}

function readHookFunctions(module: string, exports: Exports): Partial<Record<HookName, HookFunction>> {
  const functions: Partial<Record<HookName, HookFunction>> = {};
  for (const hookName of hookNames) {
    const value = exports[hookName];
    if (value === undefined) continue;
    if (typeof value !== 'function') throw new TypeError(`${module}: ${hookName} is no function`);
    const hook = value as HookFunction;
    functions[hookName] = (input, context) => asUserCode(module, () => hook(input, context));
  }
  if (Object.keys(functions).length === 0) throw new TypeError(`${module} exports no hook; export a function ${hookNames.join(', ')}`);
  return functions;
}

function readOnFailure(module: string, { onFailure = 'abort' }: Exports): 'ignore' | 'abort' {
  if (onFailure !== 'ignore' && onFailure !== 'abort') throw new TypeError(`${module}: onFailure is "ignore" or "abort"`);
  return onFailure;
}

/** `toValue`: what a value that is no hook answer means. A result may be null; what returns nothing returns undefined. */
function toDecision<Decision>(
  answer: unknown,
  hookName: HookName,
  toValue: (value: unknown) => Decision,
): Decision | HookAbort | undefined {
  if (answer === undefined) return undefined;
  if (!isHookAnswer(answer)) return toValue(answer);
  if (answer.type === 'abort') return { type: 'abort', message: answer.message };
  throw new TypeError(`${answer.type === 'arguments' ? 'changeArguments' : 'changeMessages'} has no meaning in ${hookName}`);
}

/** A `ToolError` says something to the model; it is no failure of the hook. */
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
  if (!isJsonObject(json)) throw new TypeError('changeArguments takes an object');
  return json;
}

function toPublicTool({ name, description, parameters }: ToolSpec): JsonObject {
  return structuredClone({ type: 'function', function: { name, description, parameters } });
}

function contextOf({ run: { runId, chatId, caller, conversation }, signal }: HookInvocation): HookContext {
  let userSignal: AbortSignal | undefined;
  return {
    get signal() {
      userSignal ??= toUserSignal(signal);
      return userSignal;
    },
    runId,
    chatId,
    user: { id: caller.id, role: caller.role },
    model: conversation?.model,
  };
}
