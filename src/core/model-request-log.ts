import type { ChatEvent } from './chat.ts';
import type { JsonObject, JsonValue } from '../shared/json.ts';

/**
 * The place of a question in its run, for the log, and for whoever must not begin again once calls have run. `answer`: no further question follows it; `round`: functions may be called; `last_answer`:
 * after the last round; the others belong to the selection pass.
 */
export interface Asking {
  purpose: 'answer' | 'round' | 'last_answer' | 'selection_names' | 'selection' | 'selection_repair';
  /** From 1 on. Rounds in which no call could run do not count: their question bears the same number again. */
  round?: number;
  maxRounds?: number;
  /** What is on offer, and what is demanded, where a prompt says it instead of the request. */
  functions?: readonly string[];
  toolChoice?: JsonValue | undefined;
  /** Why it is asked again, in another way. */
  reason?: 'no_call_made' | 'stop_refused' | 'functions_refused' | 'functions_missed' | 'form_demanded' | 'form_refused' | 'no_words';
}

/** Why an answer failed, in the words that its client gets. */
export interface AnswerFault {
  code: string;
  message: string;
}

/** What one question came to. */
export interface AnswerLog {
  note(event: ChatEvent): void;
  /** Called once. `stopped`: nobody read on. */
  end(how?: AnswerFault | 'stopped'): void;
}

/** Writes down what models are asked in one run, and how they answer. */
export interface ModelRequestLog {
  /** `question` is kept as it is: the data of a `model.request` without its number. */
  ask(question: JsonObject): AnswerLog;
  /** A question whose answer is all that the run still says. The log sees that anyway: nothing else stands between its events. */
  askLast(question: JsonObject): void;
}
