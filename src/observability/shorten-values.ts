import { isContainer, type JsonObject, type JsonValue } from '../shared/json/json.ts';
import { isHiddenField, redacted } from './remove-secrets.ts';

/** Nesting of logged arguments and results, which bounds the recursion. */
const maxDepth = 16;
/** Characters that a number, a literal or a bracket counts. */
const smallest = 4;
/** The log redacts `body`, but as a tool's argument it is the text of a mail or a note. */
const plainName = 'body';

/** Characters of a file within a text (`data:…`), of which only its type can be shown. */
const dataUrlCharacters = 100;

interface Bounds {
  /** The most of one text. */
  textCharacters: number;
  /** The most of all texts and other values together. */
  characters: number;
}

/**
 * Copies an object for the log of a run, and counts its characters. Texts beyond the bounds, and everything beyond them in all, are truncated with a
 * mark; values under secret names are redacted.
 */
export function shortenValues(data: JsonObject, { textCharacters, characters }: Bounds): { data: JsonObject; characters: number } {
  const budget = { left: characters, textCharacters };
  const copy = shortenObject(data, budget, 0);
  return { data: copy, characters: characters - budget.left };
}

interface Budget {
  left: number;
  readonly textCharacters: number;
}

function shorten(value: JsonValue, budget: Budget, depth: number): JsonValue {
  if (typeof value === 'string') return shortenText(value, budget);
  budget.left -= smallest;
  if (!isContainer(value)) return value;
  if (depth >= maxDepth) return '[deeper]';
  return Array.isArray(value) ? shortenList(value, budget, depth) : shortenObject(value, budget, depth);
}

function shortenText(text: string, budget: Budget): string {
  const most = text.startsWith('data:') ? dataUrlCharacters : budget.textCharacters;
  const room = Math.max(0, Math.min(most, budget.left));
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
  const kept: JsonObject = {};
  const names = Object.keys(object);
  let count = 0;
  for (const name of names) {
    const value = object[name];
    if (value === undefined) continue;
    if (budget.left <= 0) {
      kept['…'] = `[${names.length - count} more]`;
      break;
    }
    const shown = shortenText(name, budget);
    const isSecret = isHiddenField(name, value) && name !== plainName;
    setOwn(kept, shown, isSecret ? redacted : shorten(value, budget, depth + 1));
    count += 1;
  }
  return kept;
}

function setOwn(object: JsonObject, name: string, value: JsonValue): void {
  // An assignment would set the prototype.
  if (name === '__proto__') Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
  else object[name] = value;
}
