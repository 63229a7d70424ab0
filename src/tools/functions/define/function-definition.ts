import type { z } from 'zod';
import type { JsonObject, JsonValue } from '../../../shared/json.ts';

/** Recognises what was defined, whichever copy of this module has made it: a folder's modules may be loaded by another loader, or in a thread. */
export const functionMark = Symbol.for('toolwharf.function');
export const toolsetMark = Symbol.for('toolwharf.toolset');

/** A zod schema of an object, or JSON Schema whose root is an object. */
export type ToolParameters = z.ZodType | JsonObject;

/** What `execute` gets: a zod schema's output, else an object that fits the JSON Schema. */
export type ToolArguments<Parameters extends ToolParameters> = Parameters extends z.ZodType ? z.output<Parameters> : JsonObject;

/** A message in the form of the OpenAI API: `{role, content, tool_calls?, …}`. */
export type PublicMessage = JsonObject & { role: string };

/** Values are JSON. What is set is saved when the call succeeds, for this caller and chat; without a chat, for this run. */
export interface FunctionState {
  readonly get: (key: string) => JsonValue | undefined;
  /** `undefined` takes the key away. @throws Error beyond `limits.stateKeys` and `limits.stateCharacters` */
  readonly set: (key: string, value: JsonValue | undefined) => void;
}

/** Who is asking, and where; known before a call too. */
export interface FunctionPlace {
  readonly runId: string;
  readonly chatId: string | undefined;
  readonly user: { readonly id: string; readonly role: 'admin' | 'user' };
  /** As the request named it; undefined where no model is asked. */
  readonly model: string | undefined;
  /** The conversation as the request had it. Copies: to change them changes nothing. */
  readonly messages: readonly PublicMessage[];
  /** The request's inline files. */
  readonly files: readonly { readonly name: string; readonly content: string }[];
}

/** The second argument of `execute`. A model can neither see nor supply it. */
export interface FunctionContext extends FunctionPlace {
  /** Aborted by a cancellation, the caller's leave and the time limits. */
  readonly signal: AbortSignal;
  readonly state: FunctionState;
  /** Shows what is being done; resolves when it was delivered. The time limit begins anew. */
  readonly status: (text: string) => Promise<void>;
  readonly progress: (done: number, total?: number) => Promise<void>;
  /** Asks the user over their session; whatever is no clear yes is a no. @throws ToolError where there is none */
  readonly confirm: (title: string, message?: string) => Promise<boolean>;
  /** Asks the user for a value, by a JSON Schema where one is given; undefined when they give none. @throws ToolError where there is no session */
  readonly ask: (title: string, question?: { message?: string; schema?: JsonObject }) => Promise<JsonValue | undefined>;
  /** A cancellation waits until this is done. */
  readonly critical: <Value>(work: () => Promise<Value> | Value) => Promise<Value>;
  /** The run ends after this round, without another turn of the model. */
  readonly stop: () => void;
}

/** `reject`: the model reads the message. `abort`: the run ends with it. Nothing: it may go on. */
export type Verdict = undefined | void | { reject: string } | { abort: string };
type Soon<Value> = Value | Promise<Value>;

export interface ToolDefinition<Parameters extends ToolParameters = ToolParameters> {
  /** `^[A-Za-z_][A-Za-z0-9_-]{0,63}$` */
  name: string;
  /** What it does and when to use it, for a model. */
  description: string;
  parameters: Parameters;
  /** Gives JSON, or what `noReply` and `handoff` give; undefined is null. The model reads the message of a `ToolError`; anything else that is thrown is masked. */
  execute(args: ToolArguments<Parameters>, context: FunctionContext): unknown;
  /** Whether chats have it that do not name it. Default: true. */
  default?: boolean;
  /** Whether backends are to enforce the schema. Default: where they are known to. */
  strict?: boolean;
  /** Called at the start of each run, for all functions at once; one that throws or takes too long hides only itself. */
  isEnabled?: boolean | ((run: FunctionPlace) => Soon<boolean>);
  /** Whether a human is asked before each call. */
  needsApproval?: boolean | ((args: ToolArguments<Parameters>) => Soon<boolean>);
  inputGuardrails?: readonly ((args: ToolArguments<Parameters>, context: FunctionContext) => Soon<Verdict>)[];
  outputGuardrails?: readonly ((result: JsonValue, context: FunctionContext) => Soon<Verdict>)[];
  /** Comes before every other time limit of a call. */
  timeoutMs?: number;
  timeoutBehavior?: 'result' | 'abort';
  onError?: 'result' | 'abort' | ((error: unknown) => Soon<string>);
  /** It changes nothing: it may run beside other calls of its round that only read, and may be tried again. */
  readOnly?: boolean;
  /** It may run beside other calls of its round although it may change something: their order does not matter. */
  parallel?: boolean;
  /** `true`: never beside another call of its round, even where it only reads. `false`: the same as `parallel: true`. */
  sequential?: boolean;
  /** Equal calls of one run are all meant, however many there are. */
  repeats?: boolean;
  /** Twice is the same as once: it may be tried again. */
  idempotent?: boolean;
  /** For so long an equal call of the same caller gets the same result. */
  cacheTtlMs?: number;
  /** Once it was called, the request's files are not used as context. */
  consumesFiles?: boolean;
  /** `execute` runs in a thread of its own, which loads the module anew: for work that blocks. */
  worker?: boolean;
}

/** How arguments came out of the schema's own check. */
export type ReadArguments = { type: 'read'; value: unknown } | { type: 'invalid'; message: string };

/** A function as `defineTool` gives it: checked, and its schema converted. */
export interface FunctionTool {
  readonly [functionMark]: true;
  readonly name: string;
  readonly description: string;
  /** What the model reads and what arguments are checked against. */
  readonly parameters: JsonObject;
  /** Fills in defaults, and does what a zod schema does beyond JSON Schema. */
  readonly readArguments: (args: JsonObject) => ReadArguments | Promise<ReadArguments>;
  readonly options: Omit<ToolDefinition, 'name' | 'description' | 'parameters'>;
}

export interface ToolsetDefinition {
  /** `^[a-z0-9_-]{1,64}$` */
  id: string;
  tools: readonly FunctionTool[];
  /** Before the set is offered; a set whose `setup` fails is not. */
  setup?(): unknown;
  /** When the set was replaced and no run uses it any more, and at the gateway's end. */
  close?(): unknown;
  /** Whether chats have it that do not name it. Default: true. */
  default?: boolean;
}

export interface Toolset extends Readonly<ToolsetDefinition> {
  readonly [toolsetMark]: true;
}

export function isFunctionTool(value: unknown): value is FunctionTool {
  return typeof value === 'object' && value !== null && functionMark in value;
}

export function isToolset(value: unknown): value is Toolset {
  return typeof value === 'object' && value !== null && toolsetMark in value;
}
