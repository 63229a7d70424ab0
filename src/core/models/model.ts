import type { Attempts } from './attempts.ts';
import type { Caller } from '../callers/caller.ts';
import type { ChatMessage, ModelEvent, TextCompletion } from '../chat/chat.ts';
import type { Embed } from './embeddings.ts';
import type { Lesson, LessonKind, LessonRule, RememberedLesson } from './lesson.ts';
import type { TraceHeaders } from '../outbound.ts';
import type { Emit } from '../../shared/async/emit.ts';
import type { JsonObject, JsonValue } from '../../shared/json/json.ts';
import type { MaybePromise } from '../../shared/async/maybe-promise.ts';
import type { RequestPurpose } from './model-request-log.ts';
import type { Tool, ToolSpec } from '../tools/tool.ts';

/** One request to a backend. */
export interface ModelRequest {
  /** The backend's name of the model, without a prefix. */
  model: string;
  messages: ChatMessage[];
  /** Functions offered by the gateway; empty: no `tools` key is sent unless `callerTools` has entries. */
  tools: readonly ToolSpec[];
  /** The tools behind `tools`, by offered name, for what reads the answer; no backend looks at them. */
  offered?: ReadonlyMap<string, Tool>;
  /** The caller's own entries of `tools`, forwarded unchanged. */
  callerTools: JsonObject[];
  /** What their schemas are converted to. Absent: they are sent as they are. */
  callerSchemas?: CallerSchemas;
  toolChoice: JsonValue | undefined;
  parallelToolCalls: boolean | undefined;
  /** Functions that are not offered so that the model answers. Some backends take earlier calls only together with functions. */
  withheld?: Pick<ModelRequest, 'tools' | 'callerTools' | 'parallelToolCalls'>;
  /** OpenAI's names; unknown ones are forwarded where the protocol allows. */
  parameters: JsonObject;
  stream: boolean;
  signal: AbortSignal;
  /** The JSON that the answer has to be. A backend enforces it as far as it can, and otherwise ignores it. */
  output?: OutputForm;
  completion?: TextCompletion | undefined;
  /** Absent: what its refusal teaches is attributed to nobody in particular. */
  origin?: RequestOrigin;
  /** False: usage is not asked for in streams. */
  asksForUsage?: false;
  /** For the log of the run; no backend looks at it. */
  purpose?: RequestPurpose;
  /** How often the request may still be made elsewhere. Absent: only its backend decides. */
  attempts?: Attempts;
  /** The public id of the model, if it is asked in place of the one that the run names. */
  fallback?: string;
  /** The trace headers of the request that is currently made. Absent: it is not traced. */
  trace?: () => TraceHeaders | undefined;
  /** Called by a backend before it repeats the request in another way; `fault`: how the server refused the one before, if it did. */
  onRepeat?: (next: ModelRequest, fault?: unknown) => void;
}

/** `profile`: what the backend understands of JSON Schema; `simple`: the few keywords that every backend understands. */
export type SchemaForm = 'profile' | 'simple';

/** The form of the schemas of the caller's functions. */
export interface CallerSchemas {
  all?: SchemaForm;
  /** Functions that are converted further than all others. */
  simple?: readonly string[];
}

/** Who makes a request, and where its functions come from. One object serves a whole run. */
export interface RequestOrigin {
  readonly callerId: string;
  /** `isOwn`: the request itself brought the tool server. Undefined for a function that is not offered. */
  sourceOf(functionName: string): { server: string; isOwn: boolean } | undefined;
}

/** A JSON Schema in the subset that grammars and structured outputs share: one type each, closed objects, no references. */
export interface OutputForm {
  schema: JsonObject;
  /**
   * The same schema in OpenAI's strict form: every property is required, and nullable if it was optional. Undefined if that would change which
   * values are possible.
   */
  strictSchema: JsonObject | undefined;
  /** How much of it is enforced: the schema (the default), only that it is JSON, or nothing. */
  degree?: OutputDegree;
  /** `disabled`: the model must not reason first; `enabled`: it may again, because it said nothing without. Absent: nothing is known. */
  reasoning?: 'disabled' | 'enabled';
}

export type OutputDegree = 'schema' | 'json' | 'none';

/** A model server, or a wrapper of one, that answers model requests. */
export interface ModelBackend {
  /** Whose API it speaks, as OpenTelemetry names it (`gen_ai.provider.name`). Absent: unknown. */
  readonly provider?: string | undefined;
  /**
   * Emits text and reasoning as they arrive, each tool call in one piece, usage when known, and finally one `finish` per choice; resolves at the end
   * of the answer. If `emit` throws, the connection is closed, and the promise rejects with that error.
   * @throws GatewayError (`upstream_*`, `tools_unsupported`) before or between events; the signal's reason when aborted.
   */
  answer(request: ModelRequest, emit: Emit<ModelEvent>): Promise<void>;
}

/** What was refused, so that it can be judged who may have caused it. */
export interface Proof {
  /** The request that was refused, with what the lesson changes. */
  request: ModelRequest;
  /** The words of the refusal that point at what the lesson changes. Undefined: it may as well be about something else. */
  pointsAt: string | undefined;
  /** All words of the refusal, which may name other causes. */
  words?: string;
  /** Default: `proven`. */
  rule?: LessonRule;
}

/** What refusals by the backend of one model have taught. */
export interface ModelLessons {
  /** False: there is no lesson of any kind that holds for this request. */
  mayRecall(request: ModelRequest): boolean;
  /** The lessons that hold for this request. */
  recall(kind: LessonKind, request: ModelRequest): readonly Lesson[];
  /**
   * Remembers a lesson after the request has succeeded with this change.
   */
  learn(lesson: Lesson, proof: Proof): void;
  /** Whether a lesson has not been shown in this run yet; it counts as shown from then on. */
  isNewTo(lesson: Lesson, request: ModelRequest): boolean;
}

/** All that refusals have taught, for reports and the doctor. */
export interface LessonMemory {
  remembered(): RememberedLesson[];
  /** Clears the lessons about functions of a registered tool server. */
  forgetServer(id: string): void;
  /** Clears the lessons that a key and its people, or one of them, have taught. */
  forgetAllOf(ownerId: string): void;
}

/** A model in the catalog. */
export interface ModelRecord {
  /** As clients name it; with the backend's prefix where it has one. */
  id: string;
  /** `ollama`, `openai`, `demo`, or the backend's `owned_by`. */
  owner: string;
  /** Whether it runs locally (Ollama, demo): decides between TASK_MODEL and TASK_MODEL_EXTERNAL. */
  isLocal: boolean;
  /** Seconds since 1970. */
  created: number;
  /** Shown in the model list, e.g. `["completion", "tools", "thinking"]`; undefined when the backend says nothing. */
  capabilities: string[] | undefined;
  /** Everything else the backend listed, for the list's `ollama` or `openai` key. */
  details: JsonObject;
}

/** A model that can be requested. */
export interface FoundModel {
  record: ModelRecord;
  /** The backend's name of the model. */
  name: string;
  backend: ModelBackend;
  /** Whether native tool calls work: reported by the backend, learned from a refusal, or unknown, which counts as yes. */
  nativeTools: 'yes' | 'no' | 'unknown';
  lessons: ModelLessons;
  /** Public ids of the models that answer if this one cannot, in this order. Absent: none. */
  fallbacks?: readonly string[];
  /** The context size, if the backend reports it. It decides where results are truncated. */
  contextTokens?: number;
  /** What its Ollama says about it (`POST /api/show`); absent for models of other backends, and presets. */
  describe?: (signal: AbortSignal) => Promise<JsonObject>;
  /** Absent for a backend without embeddings. */
  embed?: Embed;
  /** Absent: it gets no pictures of functions. */
  toolPictures?: ToolPictures;
}

/** How pictures in results of functions reach a model. */
export interface ToolPictures {
  /** In the message of the result, or in a user message after all results of the round, where those take only text. */
  place: 'in_result' | 'after_results';
  /** False: nobody says so. They are shown only where the conversation has a picture already. */
  isKnownToSee: boolean;
}

/** Who looks for models: a key may limit which of them an error names, and what refusals have taught may concern this caller only. */
export type AskingCaller = Pick<Caller, 'models'> & Partial<Pick<Caller, 'id'>>;

export interface ModelFinder {
  /** @throws GatewayError `model_not_found`, with the cure (for an empty Ollama: the `ollama pull` to run). */
  require(id: string, signal: AbortSignal, caller?: AskingCaller): MaybePromise<FoundModel>;
  /** The models of all reachable backends. An unreachable backend delays the list by at most `limits.modelListTimeoutMs`. */
  list(signal: AbortSignal, caller?: AskingCaller): Promise<ModelRecord[]>;
}
