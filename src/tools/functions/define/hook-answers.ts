import type { JsonObject, JsonValue } from '../../../shared/json.ts';
import type { PublicMessage } from './function-definition.ts';

const answerMark = Symbol.for('toolwharf.hook-answer');

/** What a hook returns where a plain value would be taken for an answer or a result. */
export type HookAnswer = { readonly [answerMark]: true } & (
  | { readonly type: 'abort'; readonly message: string }
  | { readonly type: 'arguments'; readonly args: JsonObject }
  | { readonly type: 'messages'; readonly messages: readonly PublicMessage[] }
);

/** From any hook: the run ends, and the client reads the message. */
export function abort(message: string): HookAnswer {
  // Types are gone when a module is loaded, and a refusal without a word helps nobody.
  const given: unknown = message;
  return { [answerMark]: true, type: 'abort', message: typeof given === 'string' && given !== '' ? given : 'A hook ended the run.' };
}

/** From `beforeTool`: the function gets these arguments, which are checked like a model's. */
export function changeArguments(args: JsonObject): HookAnswer {
  return { [answerMark]: true, type: 'arguments', args };
}

/** From `beforeModel`: the model gets these messages, this once. */
export function changeMessages(messages: readonly PublicMessage[]): HookAnswer {
  if (!Array.isArray(messages)) throw new TypeError('changeMessages takes a list of messages, as in changeMessages([...messages, more])');
  return { [answerMark]: true, type: 'messages', messages };
}

export function isHookAnswer(value: unknown): value is HookAnswer {
  return typeof value === 'object' && value !== null && answerMark in value;
}

export interface HookContext {
  /** Aborted at the hook's time limit and when the run is left. */
  readonly signal: AbortSignal;
  readonly runId: string;
  readonly chatId: string | undefined;
  readonly user: { readonly id: string; readonly role: 'admin' | 'user' };
  /** As the request named it; undefined where no model is called. */
  readonly model: string | undefined;
}

type Soon<Value> = Value | Promise<Value>;
type Nothing = undefined | void;

/** An assistant message is the answer, and the model is not called. */
export type BeforeModel = (
  question: { messages: PublicMessage[]; model: string; tools: JsonObject[] },
  context: HookContext,
) => Soon<Nothing | PublicMessage | HookAnswer>;
/** Another assistant message, with other text or other calls, replaces the answer. */
export type AfterModel = (answer: { message: PublicMessage }, context: HookContext) => Soon<Nothing | PublicMessage | HookAnswer>;
/** A value is the result, and the function does not run; the model reads the message of a thrown `ToolError`. */
export type BeforeTool = (call: { name: string; arguments: JsonObject }, context: HookContext) => Soon<Nothing | JsonValue | HookAnswer>;
/** A value replaces the result. */
export type AfterTool = (
  call: { name: string; arguments: JsonObject; result: JsonValue },
  context: HookContext,
) => Soon<Nothing | JsonValue | HookAnswer>;

/** What a module of hooks exports: any of them, and what its failures do. */
export interface HookModule {
  beforeModel?: BeforeModel;
  afterModel?: AfterModel;
  beforeTool?: BeforeTool;
  afterTool?: AfterTool;
  /** Default: `abort`. */
  onFailure?: 'ignore' | 'abort';
}
