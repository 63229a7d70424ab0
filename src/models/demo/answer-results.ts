import { isJsonObject, ownValue } from '../../shared/json.ts';
import type { JsonObject, JsonValue } from '../../shared/json.ts';
import type { ToolResultText } from './read-conversation.ts';

/** Characters of one value that are quoted. */
const longestValue = 300;
const mostFields = 8;
const mostEntries = 5;

/** One short sentence for each result, with its values as they are. */
export function answerResults(results: readonly ToolResultText[]): string {
  return `Demo model: ${results.map((result) => sentence(result)).join(' ')}`;
}

function sentence({ name, args, text }: ToolResultText): string {
  const value = parse(text);
  const failure = isJsonObject(value) ? errorOf(value) : undefined;
  if (failure !== undefined) return `${name} failed: ${ended(failure)}`;
  return `${name} says ${ended(`${describe(value)}${askedWith(args)}`)}`;
}

/** A sentence is over where it says so itself. */
function ended(text: string): string {
  return /[.!?。！？…]$/u.test(text) ? text : `${text}.`;
}

function parse(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return text;
  }
}

/** `{"error": "…"}`, `{"error": {"message": "…"}}`. */
function errorOf(value: JsonObject): string | undefined {
  const error = ownValue(value, 'error');
  if (error === undefined || error === null || error === false) return undefined;
  const message = isJsonObject(error) ? ownValue(error, 'message') : undefined;
  return short(typeof message === 'string' ? message : error);
}

function describe(value: JsonValue): string {
  if (Array.isArray(value)) return listed(value);
  if (!isJsonObject(value)) return short(value);
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  if (fields.length === 0) return 'nothing';
  const shown = fields
    .slice(0, mostFields)
    .map(([key, field]) => `${key} = ${Array.isArray(field) ? listed(field) : short(field ?? null)}`);
  return shown.join(', ') + (fields.length > mostFields ? ` and ${fields.length - mostFields} more` : '');
}

function listed(list: readonly JsonValue[]): string {
  if (list.length === 0) return 'an empty list';
  const shown = list.slice(0, mostEntries).map((entry) => short(entry));
  return `${list.length} ${list.length === 1 ? 'entry' : 'entries'}: ${shown.join(', ')}${list.length > mostEntries ? ', …' : ''}`;
}

function short(value: JsonValue): string {
  const text = (typeof value === 'string' ? value : JSON.stringify(value)).replaceAll(/\s+/gu, ' ').trim();
  return text.length > longestValue ? `${text.slice(0, longestValue)}…` : text;
}

function askedWith(args: JsonObject): string {
  const fields = Object.entries(args).slice(0, mostFields);
  return fields.length === 0 ? '' : ` (${fields.map(([key, value]) => `${key} ${short(value ?? null)}`).join(', ')})`;
}
