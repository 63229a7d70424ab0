import type { ChatEvent } from './chat.ts';
import type { JsonObject, JsonValue } from '../shared/json.ts';

/** What a model request is for in its run: for the log, and for the loop, which must not begin again once calls have run. */
export interface RequestPurpose {
  /** `answer`: no further request follows; `round`: functions may be called; `last_answer`: after the last round; the others belong to a selection. */
  type: 'answer' | 'round' | 'last_answer' | 'selection_names' | 'selection' | 'selection_repair';
  /** From 1 on. Rounds in which no call could run do not count: the next request bears the same number. */
  round?: number;
  maxRounds?: number;
  /** What is on offer, and what is demanded, where a prompt says it instead of the request. */
  functions?: readonly string[];
  toolChoice?: JsonValue | undefined;
  /** Why the request is repeated in another way. */
  reason?: 'no_call_made' | 'stop_refused' | 'functions_refused' | 'functions_missed' | 'form_demanded' | 'form_refused' | 'no_words';
}

/** Why an answer failed, in the words that its client gets. */
export interface AnswerFault {
  code: string;
  message: string;
}

/** What one model request came to. */
export interface AnswerLog {
  note(event: ChatEvent): void;
  /** Called once. `stopped`: the reader had enough. */
  end(how?: AnswerFault | 'stopped'): void;
}

/** Records the model requests of one run, and their answers. */
export interface ModelRequestLog {
  /** `data` is kept as it is: that of a `model.request`, without its number. */
  begin(data: JsonObject): AnswerLog;
}
