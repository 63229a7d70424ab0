import type { Hook, HookAbort, HookPlace } from '../../../core/hooks.ts';
import { isJsonObject } from '../../../shared/json.ts';
import type { JsonObject, JsonValue } from '../../../shared/json.ts';
import type { ToolSpec } from '../../../core/tool.ts';
import { isHookAnswer } from '../define/hook-answers.ts';
import type { HookAnswer, HookContext } from '../define/hook-answers.ts';
import { fromPublicMessage, toAssistantMessage, toPublicMessage } from '../define/public-messages.ts';
import { toJson } from '../define/return-values.ts';
import { asUserCode, toOwnSignal } from '../load/user-code.ts';

const hookNames = ['beforeModel', 'afterModel', 'beforeTool', 'afterTool'] as const;
type HookName = (typeof hookNames)[number];
type HookFunction = (input: unknown, context: HookContext) => unknown;

export interface HookEntry {
  /** The module, as the configuration names it. */
  name: string;
  timeoutMs: number;
  /** Comes before what the module says. */
  onFailure: 'ignore' | 'abort' | undefined;
}

/** The exports of a module as hooks. @throws TypeError when there is none, or something else under a hook's name */
export function toHook(
  { name, timeoutMs, onFailure }: HookEntry,
  exported: Readonly<Record<string, unknown>>,
  newCallId: () => string,
): Hook {
  const exports = isJsonObject(exported['default']) ? { ...exported['default'], ...exported } : exported;
  const functions = new Map<HookName, HookFunction>();
  for (const hookName of hookNames) {
    const value: unknown = exports[hookName];
    if (value === undefined) continue;
    if (typeof value !== 'function') throw new TypeError(`${name}: ${hookName} is no function`);
    const hook = value as HookFunction;
    functions.set(hookName, (input, context) => asUserCode(name, () => hook(input, context)));
  }
  if (functions.size === 0) throw new TypeError(`${name} exports no hook; export a function ${hookNames.join(', ')}`);
  const stated: unknown = exports['onFailure'];
  if (stated !== undefined && stated !== 'ignore' && stated !== 'abort') throw new TypeError(`${name}: onFailure is "ignore" or "abort"`);
  const { beforeModel, afterModel, beforeTool, afterTool } = Object.fromEntries(functions) as Partial<Record<HookName, HookFunction>>;
  return {
    name,
    timeoutMs,
    onFailure: onFailure ?? stated ?? 'abort',
    ...(beforeModel && {
      beforeModel: async ({ model, messages, tools }, place) => {
        const answer = await beforeModel(
          { model, messages: messages.map(toPublicMessage), tools: tools.map(toPublicTool) },
          contextOf(place),
        );
        if (isNothing(answer)) return undefined;
        if (!isHookAnswer(answer)) return { type: 'answer', message: toAssistantMessage(answer, newCallId) };
        if (answer.type === 'messages')
          return { type: 'messages', messages: answer.messages.map((message) => fromPublicMessage(message, newCallId)) };
        return requireAbort(answer, 'beforeModel');
      },
    }),
    ...(afterModel && {
      afterModel: async (message, place) => {
        const answer = await afterModel({ message: toPublicMessage(message) }, contextOf(place));
        if (isNothing(answer)) return undefined;
        return isHookAnswer(answer)
          ? requireAbort(answer, 'afterModel')
          : { type: 'answer', message: toAssistantMessage(answer, newCallId) };
      },
    }),
    ...(beforeTool && {
      beforeTool: ({ name: tool, args }, place) =>
        rejecting(async () => {
          const answer = await beforeTool({ name: tool, arguments: structuredClone(args) }, contextOf(place));
          if (isNothing(answer)) return undefined;
          if (!isHookAnswer(answer)) return { type: 'result', value: toJson(answer) };
          return answer.type === 'arguments' ? { type: 'arguments', args: requireObject(answer.args) } : requireAbort(answer, 'beforeTool');
        }),
    }),
    ...(afterTool && {
      afterTool: ({ name: tool, args, result }, place) =>
        rejecting(async () => {
          const answer = await afterTool(
            { name: tool, arguments: structuredClone(args), result: structuredClone(result) },
            contextOf(place),
          );
          if (isNothing(answer)) return undefined;
          return isHookAnswer(answer) ? requireAbort(answer, 'afterTool') : { type: 'result', value: toJson(answer) };
        }),
    }),
  };
}

/** A result may be null, a message may not; what returns nothing returns undefined. */
function isNothing(answer: unknown): answer is undefined {
  return answer === undefined;
}

/** A `ToolError` says something to the model; it is no failure of the hook. */
async function rejecting<Decision>(work: () => Promise<Decision>): Promise<Decision | { type: 'reject'; message: string }> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Error && error.name === 'ToolError') return { type: 'reject', message: error.message };
    throw error;
  }
}

function requireAbort(answer: HookAnswer, hookName: HookName): HookAbort {
  if (answer.type === 'abort') return { type: 'abort', message: answer.message };
  throw new TypeError(`${answer.type === 'arguments' ? 'changeArguments' : 'changeMessages'} has no meaning in ${hookName}`);
}

function requireObject(args: unknown): JsonObject {
  const json: JsonValue = toJson(args);
  if (!isJsonObject(json)) throw new TypeError('changeArguments takes an object');
  return json;
}

function toPublicTool({ name, description, parameters }: ToolSpec): JsonObject {
  return structuredClone({ type: 'function', function: { name, description, parameters } });
}

function contextOf({ run, signal }: HookPlace): HookContext {
  let ownSignal: AbortSignal | undefined;
  return {
    get signal() {
      ownSignal ??= toOwnSignal(signal);
      return ownSignal;
    },
    runId: run.runId,
    chatId: run.chatId,
    user: { id: run.caller.id, role: run.caller.role },
    model: run.conversation?.model,
  };
}
