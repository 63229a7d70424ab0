import type { PlainJsonObject as JsonObject, PlainJsonValue as JsonValue } from '../../../shared/json/json.ts';
import type { FunctionPlace, PublicMessage } from './function-definition.ts';

const answerMark = Symbol.for('toolwharf.hook-answer');

/** What `abort`, `changeArguments` and `changeMessages` return; a plain value would be taken for an answer or a result. */
type HookAnswer = { readonly [answerMark]: true } & (
  | { readonly type: 'abort'; readonly message: string }
  | { readonly type: 'arguments'; readonly args: JsonObject }
  | { readonly type: 'messages'; readonly messages: readonly PublicMessage[] }
);

/** For any hook: ends the run with a message for the client. */
export function abort(message: string): HookAnswer {
  // Callers may be plain JavaScript, and a refusal without a message would help nobody.
  const reason: unknown = message;
  return { [answerMark]: true, type: 'abort', message: typeof reason === 'string' && reason !== '' ? reason : 'A hook ended the run.' };
}

/** For `beforeTool`: calls the function with these arguments instead. They are validated like a model's. */
export function changeArguments(args: JsonObject): HookAnswer {
  return { [answerMark]: true, type: 'arguments', args };
}

/** For `beforeModel`: sends these messages to the model instead, for this one request. */
export function changeMessages(messages: readonly PublicMessage[]): HookAnswer {
  if (!Array.isArray(messages)) throw new TypeError('changeMessages expects a list of messages, as in changeMessages([...messages, more])');
  return { [answerMark]: true, type: 'messages', messages };
}

export function isHookAnswer(value: unknown): value is HookAnswer {
  return typeof value === 'object' && value !== null && answerMark in value;
}

/** The second argument of a hook: what functions know of the run, read-only. */
export interface HookContext extends FunctionPlace {
  /** Aborts at the hook's time limit, and when the run is cancelled or the client disconnects. */
  readonly signal: AbortSignal;
  /** The tools that may be called now, as in `tool_ids`, without those of the request's own servers; empty outside of a chat. */
  readonly tools: readonly string[];
  /**
   * For `beforeModel` and `afterModel`: whether the model is asked to choose functions by a prompt (`selection`), or for anything else (`answer`).
   * Undefined for the other hooks.
   */
  readonly purpose: 'selection' | 'answer' | undefined;
}

type MaybePromise<Value> = Value | Promise<Value>;
type Nothing = undefined | void;

/** Returning an assistant message makes it the answer; the model is not requested. */
export type BeforeModel = (
  question: { messages: PublicMessage[]; model: string; tools: JsonObject[] },
  context: HookContext,
) => MaybePromise<Nothing | PublicMessage | HookAnswer>;
/** Returning an assistant message, with other text or other tool calls, replaces the answer. */
export type AfterModel = (answer: { message: PublicMessage }, context: HookContext) => MaybePromise<Nothing | PublicMessage | HookAnswer>;
/** Returning a value makes it the result; the function does not run. The model gets the message of a thrown `ToolError`. */
export type BeforeTool = (
  call: { name: string; arguments: JsonObject },
  context: HookContext,
) => MaybePromise<Nothing | JsonValue | HookAnswer>;
/** Returning a value replaces the result. */
export type AfterTool = (
  call: { name: string; arguments: JsonObject; result: JsonValue },
  context: HookContext,
) => MaybePromise<Nothing | JsonValue | HookAnswer>;

/** The exports of a hook module: one or more hooks, and what happens when one fails. */
export interface HookModule {
  beforeModel?: BeforeModel;
  afterModel?: AfterModel;
  beforeTool?: BeforeTool;
  afterTool?: AfterTool;
  /** The hooks are asked only while one of these presets answers, or one that is based on it. Default: always. */
  presets?: readonly string[];
  /** Default: `abort`. */
  onFailure?: 'ignore' | 'abort';
}
