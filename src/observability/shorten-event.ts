import type { JsonObject, JsonValue } from '../shared/json.ts';
import { limits } from '../core/limits.ts';
import { isHiddenField, redacted } from './remove-secrets.ts';

/** Deeper values of arguments and results explain nothing, and recursion has to end. */
const maxDepth = 16;
/** What a number, a word or a bracket counts. */
const smallest = 4;
/** A request's body is hidden in the log, but for a tool this is the text of a mail or a note. */
const plainName = 'body';

/**
 * A copy of an event's data for the log of its run, and its size in characters. Texts beyond `limits.loggedTextCharacters`, and whatever is
 * beyond `limits.loggedEventCharacters` altogether, are cut with a mark; values under secret names are gone.
 */
export function shortenEvent(data: JsonObject): { data: JsonObject; characters: number } {
  const budget = { left: limits.loggedEventCharacters };
  const copy = shortenObject(data, budget, 0);
  return { data: copy, characters: limits.loggedEventCharacters - budget.left };
}

interface Budget {
  left: number;
}

function shorten(value: JsonValue, budget: Budget, depth: number): JsonValue {
  if (typeof value === 'string') return shortenText(value, budget);
  budget.left -= smallest;
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= maxDepth) return '[deeper]';
  return Array.isArray(value) ? shortenList(value, budget, depth) : shortenObject(value, budget, depth);
}

function shortenText(text: string, budget: Budget): string {
  const room = Math.max(0, Math.min(limits.loggedTextCharacters, budget.left));
  budget.left -= Math.min(text.length, room) + smallest;
  return text.length <= room ? text : `${text.slice(0, room).toWellFormed()}… [${text.length - room} more characters]`;
}

function shortenList(list: readonly JsonValue[], budget: Budget, depth: number): JsonValue[] {
  const kept: JsonValue[] = [];
  for (const entry of list) {
    if (budget.left <= 0) return [...kept, `[${list.length - kept.length} more]`];
    kept.push(shorten(entry, budget, depth + 1));
  }
  return kept;
}

function shortenObject(object: JsonObject, budget: Budget, depth: number): JsonObject {
  const kept: [string, JsonValue][] = [];
  const names = Object.keys(object);
  for (const name of names) {
    const value = object[name];
    if (value === undefined) continue;
    if (budget.left <= 0) {
      kept.push(['…', `[${names.length - kept.length} more]`]);
      break;
    }
    const shown = shortenText(name, budget);
    const isSecret = isHiddenField(name, value) && name !== plainName;
    kept.push([shown, isSecret ? redacted : shorten(value, budget, depth + 1)]);
  }
  // Not by assignment: `__proto__` is a name like any other here.
  return Object.fromEntries(kept);
}
