import type { JsonObject } from '../../shared/json/json.ts';

/** Why something that is clearly intended as a call must not run. */
export type DamageReason =
  /** The answer ended inside the call. */
  | 'truncated'
  /** The arguments cannot be read, or are no object. */
  | 'malformed'
  /** No name, or two different sets of arguments. */
  | 'ambiguous'
  /** Native answers only: the name is not offered exactly as written. */
  | 'unknown_name'
  /** Longer than `limits.argumentsBytes`, or one call more than `limits.callsPerRound`. */
  | 'too_large';

/** A call as it was read. In prompt-based modes the name is as written, and still has to be found among the offered ones. */
export interface ReadCall {
  type: 'call';
  name: string;
  arguments: JsonObject;
  /** The call's own text, without the marks around it. */
  text: string;
  /** Descriptions of repairs, for the run's log. */
  repairs: string[];
  /** Not enclosed in marks that only a call can have. */
  isBare?: boolean;
  /** Part of the object that the selection prompt demands: `{"tool_calls": […]}`. */
  isDemanded?: boolean;
  /** The JSON says more than a call, such as `"execute": false`. */
  hasReservation?: boolean;
}

export interface DamagedCall {
  type: 'damaged';
  reason: DamageReason;
  /** Absent if it cannot be read. */
  name?: string;
  /** Present for the reason `unknown_name`. */
  arguments?: JsonObject;
  text: string;
  isBare?: boolean;
  isDemanded?: boolean;
}

export type ReadEntry = ReadCall | DamagedCall;

/** What a model's answer consists of. Pieces come in the order of the text; neighbouring texts may come in any number of pieces. */
export type AnswerPiece =
  | { type: 'text'; text: string }
  | { type: 'reasoning'; text: string }
  | ReadEntry
  /** An explicit empty selection, such as `{"tool_calls": []}`. */
  | { type: 'nothing-chosen'; text: string }
  /**
   * A closing thinking tag without an opening one: all that came before was thinking that the chat template had opened.
   * Text that was shown cannot be taken back, but calls among the earlier pieces must not run.
   */
  | { type: 'retraction' };

/** The result of trying to read a call at a position. */
export type Reading =
  /** No call begins here; `at` is as far as it looked. */
  | { type: 'none'; at: number }
  /** Valid JSON that is no call. Nothing inside it is searched for calls. */
  | { type: 'data'; end: number }
  | Entries;

/** Calls, or an explicit empty choice. */
export interface Entries {
  type: 'entries';
  end: number;
  entries: ReadEntry[];
}

export function noCall(at: number): Reading {
  return { type: 'none', at };
}

export function entriesTo(end: number, entries: ReadEntry[]): Entries {
  return { type: 'entries', end, entries };
}

export function entryTo(end: number, entry: ReadEntry): Entries {
  return entriesTo(end, [entry]);
}

/** Extends the text of calls to the marks around them, up to `end`. */
export function withText(reading: Entries, text: string, end: number): Entries {
  return entriesTo(
    end,
    reading.entries.map((entry) => ({ ...entry, text })),
  );
}

export function readCall(name: string, args: JsonObject, text: string): ReadCall {
  return { type: 'call', name, arguments: args, text, repairs: [] };
}

export function damagedCall(reason: DamageReason, text: string, name?: string): DamagedCall {
  return { type: 'damaged', reason, ...(name !== undefined && { name }), text };
}

/**
 * Removes the namespace and the counter that some templates add (`functions.get_time:0`, Gemma's `default_api.get_time`, Gemini's
 * `default_api:get_time`), and Markdown's escapes.
 */
export function plainName(written: string): string {
  const trimmed = written.includes('\\') ? written.trim().replaceAll('\\_', '_') : written.trim();
  return trimmed.replace(/^(?:functions|default_api)[.:]/, '').replace(/[:!]\d{1,6}$/, '');
}
