import { isDeepStrictEqual } from 'node:util';
import { isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';
import { damagedCall, entriesTo, entryTo, noCall, plainName, readCall, type ReadEntry, type Reading } from '../answer-pieces.ts';
import { cutOff, tooFar } from '../answer-text.ts';
import { findJsonExtent, type JsonExtent } from './json-extent.ts';
import { parseStrictly } from '../json/parse-json.ts';
import { parseTolerantly, toArguments } from '../json/parse-tolerantly.ts';
import { argumentKeys, hasOtherArguments, hasReservation, listKeys, nameKeys, withoutLostArguments } from './call-members.ts';
import { parsePythonicCall } from './pythonic-calls.ts';
import type { Enclosure, ReadContext } from '../read-context.ts';
import { maxMendable } from '../json/repair-json.ts';

function withReservation(entries: ReadEntry[] | undefined): ReadEntry[] | undefined {
  return entries?.map((entry) => (entry.type === 'call' ? { ...entry, hasReservation: true } : entry));
}

/** Keys that an object which is a call, or a list of calls, may begin with. */
const firstCallKeys: ReadonlySet<string> = new Set([
  ...argumentKeys,
  ...nameKeys,
  ...listKeys,
  'type',
  'id',
  'tool_call_id',
  'thought',
  'reasoning',
]);

const writtenName = /(?:name|function|tool|action)["']?\s{0,9}:\s{0,9}["']([^"'{}]{1,128})["']/;
const callList = /^(?:\[|\{\s{0,99}["']?(?:tool_calls?|function_calls?)["']?\s{0,99}:)/;

/** Guesses the name of the function in unreadable JSON. */
export function visibleName(text: string): string | undefined {
  return writtenName.exec(text.slice(0, 2000))?.[1];
}

/** Calls written as JSON: one object, a list, or an envelope such as `{"tool_calls": […]}`. */
export function readJsonCalls(context: ReadContext, at: number, enclosure: Enclosure): Reading {
  const { input } = context;
  const extent = findJsonExtent(input, at, enclosure.needsCallKey === true ? firstCallKeys : undefined);
  if (extent.type === 'failed') {
    const { missing } = extent;
    if (missing === undefined || input.firstOf(enclosure.closes, extent.at) === undefined) return noCall(extent.at);
    const written = { text: input.text.slice(at, extent.at), missing, faults: ['missing closing bracket'] };
    const entries = callsOfText(context, enclosure, written);
    return entries === undefined ? noCall(extent.at) : entriesTo(extent.at, entries);
  }
  const { end, faults } = extent;
  const text = input.text.slice(at, end);
  if (!extent.isClosed) return readUnclosed(context, enclosure, { at, extent, text });
  const isReadable = extent.isMendable || parseStrictly(text) !== undefined;
  const entries = isReadable ? callsOfText(context, enclosure, { text, missing: '', faults }) : undefined;
  if (entries !== undefined) return entriesTo(end, entries);
  if (isReadable && parseTolerantly(text, context) !== undefined) return { type: 'data', end };
  const salvaged = salvageItems(context, { extent, text });
  if (salvaged.length > 0) return entriesTo(end, salvaged);
  const name = visibleName(text);
  return name === undefined && !enclosure.isMarked ? noCall(end) : entryTo(end, damagedCall('malformed', text, name));
}

function callsOfText(
  context: ReadContext,
  { isMarked }: Enclosure,
  { text, missing, faults }: { text: string; missing: string; faults: string[] },
): ReadEntry[] | undefined {
  const parsed = parseTolerantly((context.isSelection ? withoutMarkdown(text) : text) + missing, context);
  if (parsed === undefined) return undefined;
  const repairs = parsed.isRepaired && faults.length === 0 ? ['invalid JSON'] : parsed.isRepaired || missing !== '' ? faults : [];
  return callsOfValue(parsed.value, { text, repairs, isMarked, context });
}

/** A model that escapes keys as in Markdown (`"tool\_calls":`) escapes everything. */
function withoutMarkdown(text: string): string {
  return /\\_[\w\\]{0,99}["']\s{0,9}:/.test(text) ? text.replaceAll('\\_', '_') : text;
}

/** JSON that the answer ended in. Complete members of a list may run if the model stopped by itself, but not if the token limit cut it off. */
function readUnclosed(
  context: ReadContext,
  { isMarked }: Enclosure,
  { at, extent, text }: { at: number; extent: JsonExtent; text: string },
): Reading {
  const { end } = extent;
  const calls = context.input.isCut ? [] : salvageItems(context, { extent, text });
  if (calls.length === 0) {
    const name = visibleName(text);
    if ((name === undefined || text.length < 2) && !isMarked) return noCall(end);
    return entryTo(end, damagedCall('truncated', text, name));
  }
  const rest = context.input.text.slice(extent.items.at(-1)?.end ?? at, end);
  const isOnlyBracket = /^[\s,\]}]*$/.test(rest);
  return entriesTo(end, [...calls, ...(isOnlyBracket ? [] : [damagedCall('truncated', rest)])]);
}

/** Reads the members of a list separately, so that one bad member does not invalidate the others. */
function salvageItems(context: ReadContext, { extent, text }: { extent: JsonExtent; text: string }): ReadEntry[] {
  if (!callList.test(text)) return [];
  const entries = extent.items.flatMap(({ start, end, isMendable }): ReadEntry[] => {
    const item = context.input.text.slice(start, end);
    const parsed = isMendable ? parseTolerantly(item, context) : undefined;
    const repairs = parsed?.isRepaired === true ? ['invalid JSON'] : [];
    const calls = parsed && callsOfValue(parsed.value, { text: item, repairs, isMarked: false, context });
    if (calls !== undefined) return calls;
    const name = visibleName(item);
    return name === undefined ? [] : [damagedCall('malformed', item, name)];
  });
  return entries.some((entry) => entry.type === 'call') ? entries : [];
}

/** JSON within a JSON string, as a whole answer or block may be written. */
export function readQuotedJson(context: ReadContext, at: number, { isMarked }: Enclosure): Reading {
  const end = context.input.stringEnd(at);
  if (end < 0) return noCall(at + 1);
  const text = context.input.text.slice(at, end);
  const decoded = parseStrictly(text);
  const inner = typeof decoded === 'string' ? parseTolerantly(decoded.trim(), context) : undefined;
  const entries = inner && callsOfValue(inner.value, { text, repairs: ['JSON in a string'], isMarked, context });
  return entries === undefined ? noCall(end) : entriesTo(end, entries);
}

/** Reads arguments alone, an object or a string that holds one; the name of the function was written elsewhere. */
export function readJsonArguments(context: ReadContext, at: number, name: string): Reading {
  const { input } = context;
  const extent = input.text[at] === '"' ? stringExtent(at, input.stringEnd(at)) : findJsonExtent(input, at);
  if (extent.type === 'failed') return noCall(extent.at);
  const end = extent.end === cutOff ? input.text.length : extent.end;
  const text = input.text.slice(at, end);
  if (!extent.isClosed) return entryTo(end, damagedCall('truncated', text, name));
  const parsed = extent.isMendable || parseStrictly(text) !== undefined ? parseTolerantly(text, context) : undefined;
  if (parsed === undefined) return entryTo(end, damagedCall('malformed', text, name));
  return entryTo(end, callOfArguments(name, parsed.value, { text, repairs: parsed.isRepaired ? extent.faults : [], context }));
}

function stringExtent(at: number, end: number): ReturnType<typeof findJsonExtent> {
  if (end === tooFar) return { type: 'failed', at };
  return { type: 'extent', end, isClosed: end !== cutOff, isMendable: true, faults: [], items: [] };
}

const mangledBeginning = /^\{\s{0,99}\\?["']?(?:name|tool_calls?)\\?["']?\s{0,99}:/;
const maxMangledBeginning = 256;
/** An unquoted value that begins with a letter is a variable or an expression; the repair would wrongly turn it into a string. */
const unquotedValue = /["']\s{0,99}:\s{0,99}(?!(?:true|false|null|True|False|None)\b)[\p{L}_$]/u;
const nameKey = /\\?["']?\bname\\?["']?\s{0,99}:/g;

/**
 * The last resort for broken JSON (unescaped quotes in a string, everything escaped twice). Requires that a single call is the whole answer, was not
 * cut off, names one offered function once, and ends with a brace.
 */
export function readMangledAnswer(context: ReadContext, at: number): Reading {
  const { input } = context;
  const nothing = noCall(at + 1);
  input.need(at + maxMangledBeginning - 1);
  if (!mangledBeginning.test(input.text.slice(at, at + maxMangledBeginning))) return nothing;
  input.need(at + maxMendable);
  const text = input.text.slice(at).trimEnd();
  const isTooLong = input.text.length - at > maxMendable;
  if (isTooLong || input.isCut || unquotedValue.test(text) || !text.endsWith('}') || [...text.matchAll(nameKey)].length !== 1)
    return nothing;
  const parsed = parseTolerantly(text, context);
  const entries = parsed && callsOfValue(parsed.value, { text, repairs: ['invalid JSON'], isMarked: false, context });
  const [call, ...others] = entries ?? [];
  const isOneCall = call?.type === 'call' && others.length === 0 && context.isKnown(call.name);
  return isOneCall ? entryTo(input.text.length, call) : nothing;
}

interface ValueSource {
  text: string;
  repairs: string[];
  /** Marks or a key such as `tool_calls` identify it as a call, so a name without arguments is enough. */
  isMarked: boolean;
  context: ReadContext;
}

/** The calls in a JSON value, in order. Empty for an explicit empty selection; undefined if the value is something else. */
function callsOfValue(value: JsonValue, source: ValueSource): ReadEntry[] | undefined {
  if (Array.isArray(value)) return callsOfList(value, source);
  if (!isJsonObject(value)) return undefined;
  for (const key of listKeys) {
    const list = ownValue(value, key);
    const decoded = typeof list === 'string' ? parseTolerantly(list, source.context)?.value : list;
    const calls = Array.isArray(decoded) ? decoded : isJsonObject(decoded) ? [decoded] : undefined;
    if (calls === undefined) continue;
    const entries = callsOfList(calls, { ...source, isMarked: true });
    return hasReservation(value) ? withReservation(entries) : entries;
  }
  return callsOfObject(value, source);
}

/** An empty list is an explicit empty selection; a list with members but without calls is undefined. */
function callsOfList(list: JsonValue[], source: ValueSource): ReadEntry[] | undefined {
  let hasOthers = false;
  const calls = list.flatMap((entry) => {
    const ofEntry = list.length === 1 ? source : { ...source, text: JSON.stringify(entry) };
    if (typeof entry === 'string') return callOfString(entry, ofEntry) ?? [];
    const ofObject = isJsonObject(entry) ? callsOfObject(entry, ofEntry) : undefined;
    hasOthers ||= ofObject === undefined && isJsonObject(entry);
    return ofObject ?? [];
  });
  if (list.length > 0 && calls.length === 0) return undefined;
  return hasOthers ? calls.map(withoutLostArguments) : calls;
}

function callsOfObject(value: JsonObject, source: ValueSource): ReadEntry[] | undefined {
  const call = callOfObject(value, source);
  if (call === undefined) return callsOfKeys(value, source);
  return hasReservation(value) ? withReservation([call]) : [call];
}

function callOfObject(value: JsonObject, source: ValueSource): ReadEntry | undefined {
  const nested = ownValue(value, 'function');
  if (isJsonObject(nested)) {
    const { function: _nested, ...others } = value;
    const isNamed = nameKeys.some((key) => typeof ownValue(nested, key) === 'string');
    // Some models write the arguments beside the function.
    return callOfObject(isNamed ? { ...others, ...nested } : nested, { ...source, isMarked: true });
  }
  const names = nameKeys.map((key) => ownValue(value, key)).filter((other) => typeof other === 'string');
  if (names[0] === undefined) return undefined;
  const name = plainName(names[0]);
  const keys = argumentKeys.filter((key) => Object.hasOwn(value, key));
  const args = keys[0] === undefined ? undefined : (value[keys[0]] ?? null);
  if (args === undefined && !source.isMarked) return undefined;
  if (isDescription(value, args)) return undefined;
  const { isKnown } = source.context;
  const namesAnother = names.some((other) => plainName(other) !== name && isKnown(plainName(other)) && isKnown(name));
  if (namesAnother || keys.some((key) => !isDeepStrictEqual(value[key], args)))
    return damagedCall('ambiguous', source.text, name === '' ? undefined : name);
  const call = callOfArguments(name, args ?? null, source);
  const { context } = source;
  const isLost =
    call.type === 'call' &&
    Object.keys(call.arguments).length === 0 &&
    hasOtherArguments(value, name, { context, isStated: args !== undefined && args !== null && args !== '' });
  return isLost ? damagedCall('malformed', source.text, name) : call;
}

/** A function's definition rather than a call: models list their tools on request. */
function isDescription(value: JsonObject, args: JsonValue | undefined): boolean {
  return isJsonObject(args) && Object.hasOwn(value, 'description') && isJsonObject(ownValue(args, 'properties'));
}

/** A call from a name and the value that was written as its arguments. */
function callOfArguments(
  name: string,
  written: JsonValue,
  { text, repairs, context }: Pick<ValueSource, 'text' | 'repairs' | 'context'>,
): ReadEntry {
  if (name === '') return damagedCall('ambiguous', text);
  const args = toArguments(written, context);
  if (args === undefined) return damagedCall('malformed', text, name);
  const isInString = typeof written === 'string' && written !== '';
  return { ...readCall(name, args, text), repairs: isInString ? [...repairs, 'arguments in a string'] : repairs };
}

/**
 * `{"get_time": {"zone": "UTC"}}`. Each key must be an offered name. Without marks, each value must also fit the parameters of that function, because
 * ordinary data may look the same.
 */
function callsOfKeys(value: JsonObject, { isMarked, context, text, repairs }: ValueSource): ReadEntry[] | undefined {
  const entries = Object.entries(value);
  const isCall = ([name, written]: [string, JsonValue | undefined]): boolean =>
    context.isOffered(name) && (isMarked || (context.isSelection && isJsonObject(written) && context.takes(name, Object.keys(written))));
  if (entries.length === 0 || (entries.length > 1 && !context.isSelection) || !entries.every((entry) => isCall(entry))) return undefined;
  return entries.map(([name, written]) => {
    const args = toArguments(written, context);
    return args === undefined ? damagedCall('malformed', text, name) : { ...readCall(name, args, text), repairs };
  });
}

/** `"get_time(zone='UTC')"` as a member of a list. */
function callOfString(written: string, { context, repairs }: ValueSource): ReadEntry | undefined {
  const text = written.trim();
  const entry = context.isSelection && text.length <= maxMendable ? parsePythonicCall(text) : undefined;
  if (entry?.name === undefined || !context.isKnown(entry.name)) return undefined;
  return entry.type === 'call' ? { ...entry, repairs: [...repairs, 'a call in a string'] } : entry;
}
