import type { ChatEvent, ChatMessage } from '../chat/chat.ts';
import type { TraceHeaders } from '../outbound.ts';
import type { JsonObject, JsonValue } from '../../shared/json/json.ts';

/** What a model request is for in its run: for the log, and for the loop, which must not begin again once calls have run. */
export interface RequestPurpose {
  /** `answer`: no further request follows; `round`: functions may be called; `last_answer`: after the last round; the others belong to a selection. */
  type: 'answer' | 'round' | 'last_answer' | 'selection_names' | 'selection' | 'selection_repair';
  /** Starts at 1. Rounds in which no call could run do not count, so the next model request has the same number. */
  round?: number;
  maxRounds?: number;
  /** The functions on offer and the tool choice, if they are in the prompt instead of the request's fields. */
  functions?: readonly string[];
  toolChoice?: JsonValue | undefined;
  /** Why the request is repeated in another way. */
  reason?:
    | 'no_call_made'
    | 'call_unreadable'
    | 'stop_refused'
    | 'functions_refused'
    | 'functions_missed'
    | 'form_demanded'
    | 'form_refused'
    | 'request_refused'
    | 'no_words'
    | 'address_failed'
    | 'model_failed';
}

/** Why an answer failed; the message is the one that its client gets. */
export interface AnswerFault {
  code: string;
  message: string;
}

/** Logs the answer to one model request. */
export interface AnswerLog {
  note(event: ChatEvent): void;
  /** Called once. `stopped`: the answer was not read to its end. */
  end(how?: AnswerFault | 'stopped'): void;
  /** What the request is sent with. Absent: it is not traced. */
  readonly trace?: TraceHeaders | undefined;
}

/** What was sent to a model, for the counts of its tokens, and for recorded prompts. */
export interface SentPrompt {
  readonly model: string;
  /** The public id of the model, if it is asked in place of the one that the run names. */
  readonly fallback?: string;
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly { name: string; description: string; parameters: JsonObject }[];
  readonly callerTools: readonly JsonObject[];
  readonly toolChoice: JsonValue | undefined;
  readonly parameters: JsonObject;
  readonly output?: { schema: JsonObject; degree?: 'schema' | 'json' | 'none' };
}

/** Records the model requests of one run, and their answers. */
export interface ModelRequestLog {
  /** `data` is the data of a `model.request` event, without its number. It is not copied. `provider`: see `ModelBackend`. */
  begin(data: JsonObject, sent: SentPrompt, provider?: string): AnswerLog;
}
