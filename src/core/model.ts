import type { ChatMessage, ModelEvent } from './chat.ts';
import type { Emit } from '../shared/emit.ts';
import type { JsonObject, JsonValue } from '../shared/json.ts';
import type { RequestPurpose } from './model-request-log.ts';
import type { ToolSpec } from './tool.ts';

/** One request to a backend. */
export interface ModelRequest {
  /** The backend's own name of the model, without a prefix. */
  model: string;
  messages: ChatMessage[];
  /** Functions offered by the gateway; empty: no `tools` key is sent unless `callerTools` has entries. */
  tools: ToolSpec[];
  /** The caller's own entries of `tools`, forwarded as they came. */
  callerTools: JsonObject[];
  toolChoice: JsonValue | undefined;
  parallelToolCalls: boolean | undefined;
  /** OpenAI's names; unknown ones are forwarded where the protocol allows. */
  parameters: JsonObject;
  stream: boolean;
  signal: AbortSignal;
  /** The form that the answer is to have. A backend enforces it as far as it can; what cannot enforce it takes no notice. */
  output?: OutputForm;
  /** For the log of the run; no backend looks at it. */
  purpose?: RequestPurpose;
  /** Called by a backend before it repeats the request in another way; `fault`: how the server refused the one before, if it did. */
  onRepeat?: (next: ModelRequest, fault?: unknown) => void;
}

/** A form of JSON, in the words that grammars and structured outputs have in common: one type each, closed objects, no references. */
export interface OutputForm {
  schema: JsonObject;
  /**
   * The same as OpenAI enforces it: every property required, and nullable where it may be left out. Undefined where that would change what
   * can be said.
   */
  strictSchema: JsonObject | undefined;
}

/** Something that answers a chat. */
export interface ModelBackend {
  /**
   * Emits text and reasoning as they come, each tool call whole, usage when known, and last one `finish` a choice; resolves when the answer is
   * over. Where `emit` throws, the connection is closed, and the answer rejects with that error.
   * @throws GatewayError (`upstream_*`, `tools_unsupported`) before or amid the events; the signal's reason when aborted.
   */
  answer(request: ModelRequest, emit: Emit<ModelEvent>): Promise<void>;
}

/** A model in the catalogue. */
export interface ModelRecord {
  /** As clients name it; with the backend's prefix where it has one. */
  id: string;
  /** `ollama`, `openai`, `demo`, or what the backend says (`owned_by`). */
  owner: string;
  /** Whether it runs on this side (Ollama, demo): decides between TASK_MODEL and TASK_MODEL_EXTERNAL. */
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
  /** The backend's own name of it. */
  name: string;
  backend: ModelBackend;
  /** Whether native calls work: stated, learned from a refusal, or unknown (then taken to be able). */
  nativeTools: 'yes' | 'no' | 'unknown';
  /** How much it can read, where the backend says so: it decides how much of one result it is given at once. */
  contextTokens?: number;
}

export interface ModelFinder {
  /** @throws GatewayError `model_not_found`, with what helps (for an empty Ollama: the `ollama pull` to run). */
  require(id: string, signal: AbortSignal): Promise<FoundModel>;
  /** Every reachable backend's models; a dead backend costs its own models, and at most two seconds. */
  list(signal: AbortSignal): Promise<ModelRecord[]>;
  /** Remembers for an hour that a backend refused tools for this model. */
  rememberNoTools(id: string): void;
}
