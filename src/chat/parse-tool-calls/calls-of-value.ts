import { isDeepStrictEqual } from 'node:util';
import { isJsonObject, ownValue } from '../../shared/json.ts';
import type { JsonObject, JsonValue } from '../../shared/json.ts';
import type { ReadEntry } from './call-pieces.ts';
import { maxMendable, parseTolerantly, toArguments } from './parse-json.ts';
import { plainName } from './plain-name.ts';
import type { ReadContext } from './read-context.ts';
import { callOfText } from './call-of-text.ts';

export interface ValueSource {
  text: string;
  repairs: string[];
  /** Marks around it say that it is a call: arguments may be absent, and a name without them is no mere data. */
  isMarked: boolean;
  context: Pick<ReadContext, 'isOffered' | 'isKnown' | 'takes' | 'isSelection'>;
}

const argumentKeys = ['parameters', 'arguments', 'args', 'params', 'input', 'tool_input', 'action_input', 'kwargs'] as const;
const nameKeys = ['name', 'tool_name', 'function_name', 'function', 'tool', 'action', 'recipient_name'] as const;
const listKeys = ['tool_calls', 'tool_call', 'function_calls', 'function_call', 'toolCalls', 'toolCall'] as const;

/** Keys that an object which is a call, or a list of calls, may begin with. */
export const firstCallKeys: ReadonlySet<string> = new Set([
  ...argumentKeys,
  ...nameKeys,
  ...listKeys,
  'type',
  'id',
  'tool_call_id',
  'thought',
  'reasoning',
]);

/** The calls that a JSON value stands for, in order; an empty list for an explicit nothing; undefined when it is something else. */
export function callsOfValue(value: JsonValue, source: ValueSource): ReadEntry[] | undefined {
  if (Array.isArray(value)) return callsOfList(value, source);
  if (!isJsonObject(value)) return undefined;
  for (const key of listKeys) {
    const list = ownValue(value, key);
    const decoded = typeof list === 'string' ? parseTolerantly(list)?.value : list;
    if (Array.isArray(decoded)) return callsOfList(decoded, { ...source, isMarked: true });
    if (isJsonObject(decoded)) return callsOfList([decoded], { ...source, isMarked: true });
  }
  const call = callOfObject(value, source);
  return call === undefined ? callsOfKeys(value, source) : [call];
}

/** An empty list is a choice of nothing; a list without a single call is something else. */
function callsOfList(list: JsonValue[], source: ValueSource): ReadEntry[] | undefined {
  const calls = list.flatMap((entry) => {
    const own = list.length === 1 ? source : { ...source, text: JSON.stringify(entry) };
    if (typeof entry === 'string') return callOfString(entry, own) ?? [];
    return isJsonObject(entry) ? (callOfObject(entry, own) ?? callsOfKeys(entry, own) ?? []) : [];
  });
  return list.length > 0 && calls.length === 0 ? undefined : calls;
}

function callOfObject(value: JsonObject, source: ValueSource): ReadEntry | undefined {
  const nested = ownValue(value, 'function');
  if (isJsonObject(nested)) return callOfObject(nested, { ...source, isMarked: true });
  const written = firstName(value);
  if (written === undefined) return undefined;
  const name = plainName(written);
  const keys = argumentKeys.filter((key) => Object.hasOwn(value, key));
  const key = keys[0];
  if (key === undefined && !source.isMarked) return undefined;
  if (isDescription(value, key)) return undefined;
  const isAmbiguous =
    keys.some((other) => key !== undefined && !isDeepStrictEqual(value[other], value[key])) || namesAnother(value, name, source.context);
  if (isAmbiguous) return { type: 'damaged', reason: 'ambiguous', ...(name === '' ? {} : { name }), text: source.text };
  return callOfArguments(name, key === undefined ? null : (value[key] ?? null), source);
}

function firstName(value: JsonObject): string | undefined {
  for (const key of nameKeys) {
    const name = ownValue(value, key);
    if (typeof name === 'string') return name;
  }
  return undefined;
}

/** Two keys name two functions. */
function namesAnother(value: JsonObject, name: string, { isKnown }: ValueSource['context']): boolean {
  const names = nameKeys.map((key) => ownValue(value, key)).filter((other) => typeof other === 'string');
  return names.some((other) => plainName(other) !== name && isKnown(plainName(other)) && isKnown(name));
}

/** The call of a function whose name stood before its arguments. */
export function callOfArguments(name: string, written: JsonValue, { text, repairs }: { text: string; repairs: string[] }): ReadEntry {
  if (name === '') return { type: 'damaged', reason: 'ambiguous', text };
  const args = toArguments(written);
  if (args === undefined) return { type: 'damaged', reason: 'malformed', name, text };
  const isInString = typeof written === 'string' && written !== '';
  return { type: 'call', name, arguments: args, text, repairs: isInString ? [...repairs, 'arguments in a string'] : repairs };
}

/**
 * `{"get_time": {"zone": "UTC"}}`. Each key has to be an offered name; and without marks around it each value to be arguments of that function, because
 * data may look the same.
 */
function callsOfKeys(value: JsonObject, { isMarked, context, text, repairs }: ValueSource): ReadEntry[] | undefined {
  const entries = Object.entries(value);
  const isCall = ([name, written]: [string, JsonValue | undefined]): boolean =>
    context.isOffered(name) && (isMarked || (context.isSelection && isJsonObject(written) && context.takes(name, Object.keys(written))));
  if (entries.length === 0 || (entries.length > 1 && !context.isSelection) || !entries.every((entry) => isCall(entry))) return undefined;
  return entries.map(([name, written]): ReadEntry => {
    const args = toArguments(written);
    return args === undefined
      ? { type: 'damaged', reason: 'malformed', name, text }
      : { type: 'call', name, arguments: args, text, repairs };
  });
}

/** `"get_time(zone='UTC')"` as a member of a list. */
function callOfString(written: string, { context, repairs }: ValueSource): ReadEntry | undefined {
  const text = written.trim();
  const entry = context.isSelection && text.length <= maxMendable ? callOfText(text) : undefined;
  if (entry?.name === undefined || !context.isKnown(entry.name)) return undefined;
  return entry.type === 'call' ? { ...entry, repairs: [...repairs, 'a call in a string'] } : entry;
}

/** The function's own description, repeated by a model that shows its tools, is no call. */
function isDescription(value: JsonObject, key: string | undefined): boolean {
  const parameters = key === undefined ? undefined : ownValue(value, key);
  return isJsonObject(parameters) && Object.hasOwn(value, 'description') && isJsonObject(ownValue(parameters, 'properties'));
}
