import type { z } from 'zod';
import { isJsonObject, type PlainJsonObject as JsonObject, type PlainJsonValue as JsonValue } from '../../../shared/json/json.ts';

/**
 * Marks definitions. Global symbols, because a definition may come from another copy of this module: a folder's modules are loaded by their own
 * loader, or in a thread.
 */
export const functionMark = Symbol.for('toolwharf.function');
export const toolsetMark = Symbol.for('toolwharf.toolset');

/** A zod schema of an object, or JSON Schema whose root is an object. */
export type ToolParameters = z.ZodType | JsonObject;

/** The arguments of `execute`: the output of a zod schema, or an object that is valid against the JSON Schema. */
export type ToolArguments<Parameters extends ToolParameters> = Parameters extends z.ZodType ? z.output<Parameters> : JsonObject;

/** A message in the form of the OpenAI API: `{role, content, tool_calls?, …}`. */
export type PublicMessage = JsonObject & { role: string };

/** Computes a new value from the value of a key; undefined means no value, before and after. It may be called several times. */
export type StateUpdate = (value: JsonValue | undefined) => JsonValue | undefined;

/** Holds JSON values. Changes are saved when the call succeeds: for this caller and chat, or for this run if there is no chat. */
export interface FunctionState {
  /** The value that this call has set, else the saved one, which parallel calls may have set. */
  readonly get: (key: string) => JsonValue | undefined;
  /**
   * `undefined` removes the key. A function is applied to what the key holds when the call succeeds, so that calls side by side lose nothing of each
   * other. @throws Error beyond `limits.stateKeys` and `limits.stateCharacters`
   */
  readonly set: (key: string, value: JsonValue | undefined | StateUpdate) => void;
}

/** Who asks. */
export interface FunctionUser {
  /** The id of the key, or of the person behind it as the key's frontend names them. */
  readonly id: string;
  readonly role: 'admin' | 'user';
  /** Where `id` is a person's: the id of the key. People of two keys may have the same id. */
  readonly key?: string;
  /** Of the person, for show. */
  readonly name?: string;
  readonly email?: string;
}

/** The run that a function is offered or called in; `isEnabled` and `needsApproval` get it before any call. */
export interface FunctionPlace {
  readonly runId: string;
  readonly chatId: string | undefined;
  readonly user: FunctionUser;
  /** The id of the preset that answers: after a hand-off the new one, within a preset that was called as a tool that one. Undefined without one. */
  readonly preset: string | undefined;
  /** The model as the client's request named it, whatever preset answers; undefined if the call does not come from a chat. */
  readonly model: string | undefined;
  /** Can only be read before a call. */
  readonly state: Pick<FunctionState, 'get'>;
  /** The messages of the request. They are copies: changing them has no effect. */
  readonly messages: readonly PublicMessage[];
  /** The request's inline files. */
  readonly files: readonly { readonly name: string; readonly content: string }[];
}

/** The second argument of `execute`. A model can neither see nor supply it. */
export interface FunctionContext extends FunctionPlace {
  /** Aborts when the run is cancelled, the client disconnects or a time limit is reached. */
  readonly signal: AbortSignal;
  readonly state: FunctionState;
  /** Shows the user a status line; resolves when it has been delivered. Restarts the call's time limit. */
  readonly status: (text: string) => Promise<void>;
  readonly progress: (done: number, total?: number) => Promise<void>;
  /**
   * Streams text to the user as a paragraph of the answer; resolves when it has been delivered. Shown as a status where the answer is not text: in
   * `invoke`, to MCP clients, and where the request demands an output format. Restarts the call's time limit.
   */
  readonly say: (text: string) => Promise<void>;
  /** Asks the user to confirm, over their websocket session; anything but a clear yes is a no. @throws ToolError without a session */
  readonly confirm: (title: string, message?: string) => Promise<boolean>;
  /** Asks the user for a value, optionally described by a JSON Schema; undefined if they give none. @throws ToolError without a session */
  readonly ask: (title: string, question?: { message?: string; schema?: JsonObject }) => Promise<JsonValue | undefined>;
  /** Runs work that must not be interrupted: a cancellation waits until it is done. */
  readonly critical: <Value>(work: () => Promise<Value> | Value) => Promise<Value>;
  /** The tools that this run may call, as in `tool_ids`, without those of the request's own servers; empty outside of a chat. */
  readonly tools: readonly string[];
  /**
   * Offers exactly these tools from the next round on, and in later requests of the chat that name the same model. Entries are as in `tool_ids`;
   * undefined goes back to the tools of the preset or the request. Holds if the call succeeds. @throws ToolError that names an entry which is unknown
   * or not allowed, and outside of a chat
   */
  readonly updateTools: (toolIds: readonly string[] | undefined) => Promise<void>;
  /** The same with a text in place of the preset's system prompt. @throws ToolError outside of a chat */
  readonly updateInstructions: (instructions: string | undefined) => Promise<void>;
  /** Ends the run after this round, without another model request. */
  readonly stop: () => void;
}

/** `reject`: the model gets the message as an error. `abort`: the run ends with the message. Nothing: no objection. */
export type Verdict = undefined | void | { reject: string } | { abort: string };
type MaybePromise<Value> = Value | Promise<Value>;

export interface ToolDefinition<Parameters extends ToolParameters = ToolParameters> {
  /** `^[A-Za-z_][A-Za-z0-9_-]{0,63}$` */
  name: string;
  /** Tells the model what the function does and when to use it. */
  description: string;
  parameters: Parameters;
  /**
   * Returns JSON, or the result of `noReply`, `handoff` or `withFiles`; undefined becomes null. The model gets the message of a thrown `ToolError`;
   * every other exception is masked.
   */
  execute(args: ToolArguments<Parameters>, context: FunctionContext): unknown;
  /** Whether chats that do not select any tools get it. Default: true. */
  default?: boolean;
  /** Whether the backend is to enforce the schema (OpenAI's structured outputs). Default: on backends that are known to support it. */
  strict?: boolean;
  /** Called at the start of each run, for all functions in parallel; one that throws or takes too long hides only its own function. */
  isEnabled?: boolean | ((context: FunctionPlace) => MaybePromise<boolean>);
  /** Whether a human has to approve each call. */
  needsApproval?: boolean | ((args: ToolArguments<Parameters>, context: FunctionPlace) => MaybePromise<boolean>);
  inputGuardrails?: readonly ((args: ToolArguments<Parameters>, context: FunctionContext) => MaybePromise<Verdict>)[];
  outputGuardrails?: readonly ((result: JsonValue, context: FunctionContext) => MaybePromise<Verdict>)[];
  /** In milliseconds. Takes precedence over the time limits of the request and the preset. */
  timeoutMs?: number;
  timeoutBehavior?: 'result' | 'abort';
  /** Changes to the state in its context are discarded, because the call has failed. */
  onError?: 'result' | 'abort' | ((error: unknown, context: FunctionContext) => MaybePromise<string>);
  /** Has no side effects: may run in parallel with other read-only calls of its round, and may be retried. */
  readOnly?: boolean;
  /** May run in parallel with other calls of its round although it has side effects: their order does not matter. */
  parallel?: boolean;
  /** `true`: never runs in parallel with another call of its round, even if it is read-only. `false`: the same as `parallel: true`. */
  sequential?: boolean;
  /** Repeated calls with the same arguments are intended: they are never blocked as duplicates. */
  repeats?: boolean;
  /** Calling it twice has the same effect as calling it once, so it may be retried. */
  idempotent?: boolean;
  /** In milliseconds. A call with the same arguments by the same caller gets the cached result for this long. */
  cacheTtlMs?: number;
  /** After a call, the request's files are no longer added to the model's context. */
  consumesFiles?: boolean;
  /** Runs `execute` in a worker thread that loads the module again: for work that would block the event loop. */
  worker?: boolean;
}

/** The outcome of the schema's own validation of arguments. */
export type ReadArguments = { type: 'read'; value: unknown } | { type: 'invalid'; message: string };

/** A function as `defineTool` returns it: validated, with its schema converted to JSON Schema. */
export interface FunctionTool {
  readonly [functionMark]: true;
  readonly name: string;
  readonly description: string;
  /** The JSON Schema that the model gets and arguments are validated against. */
  readonly parameters: JsonObject;
  /** Fills in defaults, and applies the transforms and refinements of a zod schema. */
  readonly readArguments: (args: JsonObject) => ReadArguments | Promise<ReadArguments>;
  readonly options: Omit<ToolDefinition, 'name' | 'description' | 'parameters'>;
}

export interface ToolsetDefinition {
  /** `^[a-z0-9_-]{1,64}$` */
  id: string;
  tools: readonly FunctionTool[];
  /** Runs before the toolset is offered; a toolset whose `setup` fails is not offered. */
  setup?(): unknown;
  /** Runs when the toolset has been replaced and no run uses it any more, and when the gateway shuts down. */
  close?(): unknown;
  /** Whether chats that do not select any tools get it. Default: true. */
  default?: boolean;
}

export interface Toolset extends Readonly<ToolsetDefinition> {
  readonly [toolsetMark]: true;
}

export function isFunctionTool(value: unknown): value is FunctionTool {
  return typeof value === 'object' && value !== null && functionMark in value;
}

/** Whether something with a mark has what `defineTool` and `defineToolset` make: anybody can set the mark. */
export function isComplete(definition: FunctionTool | Toolset): boolean {
  if (isToolset(definition)) {
    const { id, tools } = definition as Partial<Toolset>;
    return typeof id === 'string' && Array.isArray(tools) && tools.every((tool) => isFunctionTool(tool) && isComplete(tool));
  }
  const { name, description, parameters, readArguments, options } = definition as Partial<FunctionTool>;
  const isNamed = typeof name === 'string' && typeof description === 'string';
  return isNamed && isJsonObject(parameters) && isJsonObject(options) && typeof readArguments === 'function';
}

export function isToolset(value: unknown): value is Toolset {
  return typeof value === 'object' && value !== null && toolsetMark in value;
}
