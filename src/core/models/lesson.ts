import type { CallerWarning } from '../chat/caller-warning.ts';

/**
 * What requests do without, or do otherwise. `function`: one function is offered in another form, or left out; `functions`: all functions of one offer
 * are; `caller-functions`: the caller's own are; `parameter`: a parameter is omitted or renamed; `effort`: functions are offered without reasoning;
 * `usage`: usage is not asked for; `form`: structured output is enforced less strictly; `reasoning`: reasoning is disabled for structured output;
 * `tools`: no native tool calls; `withheld`: functions that may not be called are sent nevertheless; `pictures`: no pictures of functions; `api`: another
 * API of the same server is used; `kept-reasoning`: reasoning is not summarized, or not sent back. The others are about messages. `system`: where system
 * messages are; `turns`: whose turn it is; `results`: results of calls are texts; `call-ids`: calls have other ids; `thoughts`: placeholders are sent for the
 * reasoning that belongs to calls; `messages-with-calls`: what is beside calls; `prefill`: whether the last one is the model's own.
 */
export type LessonKind =
  | 'function'
  | 'functions'
  | 'caller-functions'
  | 'parameter'
  | 'effort'
  | 'usage'
  | 'form'
  | 'reasoning'
  | 'tools'
  | 'pictures'
  | 'api'
  | 'kept-reasoning'
  | 'system'
  | 'turns'
  | 'results'
  | 'call-ids'
  | 'thoughts'
  | 'messages-with-calls'
  | 'prefill'
  | 'withheld';

/** A change of requests to one model that a refusal by its backend has taught. */
export interface Lesson {
  readonly kind: LessonKind;
  /** Which one is changed: the name of the function or parameter. */
  readonly subject: string;
  /** How it is changed, such as `simplified`. */
  readonly change: string;
  /** A hash of what was refused. The lesson holds for nothing else. */
  readonly content: string;
  /** Shown in every chat in which the change is made. */
  readonly warning: CallerWarning;
  /** Registered tool servers whose functions are changed. Refreshing one of them clears the lesson. */
  readonly servers?: readonly string[];
}

/**
 * Who may be given a lesson. `lossless`: the change takes nothing away (order of messages, form of ids), so any request teaches it to everybody, unless the
 * words of the refusal may be a quotation of it. `own`: it changes what the caller brought, and is theirs alone. `proven`: it takes something away from others, so they get it only if the refusal points at what
 * is changed in its own words, nothing that the caller brought could be the cause, and a caller with another key was refused in the same way. Until
 * then it is for the caller. If something of theirs could be the cause, it is for the caller and the same parts of their own, and without words that
 * point there it is for the run alone.
 */
export type LessonRule = 'lossless' | 'own' | 'proven';

/** Whose requests a lesson changes. `caller`: only those of the caller who taught it. */
export type LessonScope = 'everybody' | 'caller';

/** A lesson that is remembered, for administrators. */
export interface RememberedLesson extends Lesson {
  readonly backend: string;
  readonly model: string;
  readonly scope: LessonScope;
  /** Milliseconds since 1970. */
  readonly until: number;
}

/** For administrators: which model is concerned, what is changed, for whom, and how long. */
export function describeLesson({ backend, model, scope, until, warning }: RememberedLesson): string {
  const whom = scope === 'everybody' ? '' : ' Only for the caller who was refused.';
  return `${model} (${backend}): ${warning.message}${whom} Remembered until ${new Date(until).toISOString().slice(0, 16)}Z.`;
}
