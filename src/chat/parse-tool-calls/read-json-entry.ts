import { callOfArguments, callsOfValue, firstCallKeys } from './calls-of-value.ts';
import type { ReadEntry, Reading, Scan } from './call-pieces.ts';
import { cutOff, markAt, tooFar } from './find-mark.ts';
import type { GrowingText } from './growing-text.ts';
import { parseStrictly, parseTolerantly } from './parse-json.ts';
import type { EntryPlace, ReadContext } from './read-context.ts';
import { scanJson } from './scan-json.ts';
import type { JsonExtent, JsonScan } from './scan-json.ts';
import { QuotedEnd } from './token-ends.ts';

const visibleName = /(?:name|function|tool|action)["']?\s{0,9}:\s{0,9}["']([^"'{}]{1,128})["']/;
const envelope = /^(?:\[|\{\s{0,99}["']?(?:tool_calls?|function_calls?)["']?\s{0,99}:)/;

/** Calls written as JSON: one object, a list, or an envelope such as `{"tool_calls": […]}`. */
export function* readJsonEntry(context: ReadContext, at: number, place: EntryPlace): Scan<Reading> {
  const { input } = context;
  const scan = yield* scanJson(input, at, place.givesUpEarly ? { firstKeys: firstCallKeys } : {});
  if (scan.type === 'failed') {
    const isAtClose = scan.missing !== undefined && (yield* markAt(input, scan.at, place.closes)) !== undefined;
    if (!isAtClose) return { type: 'none', at: scan.at };
    const entries = readValue(context, place, {
      text: input.text.slice(at, scan.at),
      missing: scan.missing ?? '',
      faults: ['missing closing bracket'],
    });
    return entries === undefined ? { type: 'none', at: scan.at } : { type: 'entries', end: scan.at, entries };
  }
  const text = input.text.slice(at, scan.end);
  if (!scan.isClosed) return readUnclosed(context, place, { at, extent: scan, text });
  const isReadable = scan.isMendable || parseStrictly(text) !== undefined;
  const entries = isReadable ? readValue(context, place, { text, missing: '', faults: scan.faults }) : undefined;
  if (entries !== undefined) return { type: 'entries', end: scan.end, entries };
  if (isReadable && parseTolerantly(text) !== undefined) return { type: 'data', end: scan.end };
  const salvaged = salvage(context, { at, extent: scan, text });
  if (salvaged.length > 0) return { type: 'entries', end: scan.end, entries: salvaged };
  const name = visibleName.exec(text.slice(0, 2000))?.[1];
  if (name === undefined && !place.isMarked) return { type: 'none', at: scan.end };
  return {
    type: 'entries',
    end: scan.end,
    entries: [{ type: 'damaged', reason: 'malformed', ...(name === undefined ? {} : { name }), text }],
  };
}

interface WrittenValue {
  text: string;
  missing: string;
  faults: string[];
}

function readValue(context: ReadContext, place: EntryPlace, { text, missing, faults }: WrittenValue): ReadEntry[] | undefined {
  const parsed = parseTolerantly((context.isSelection ? withoutMarkdown(text) : text) + missing);
  if (parsed === undefined) return undefined;
  const repairs = parsed.isRepaired && faults.length === 0 ? ['invalid JSON'] : parsed.isRepaired || missing !== '' ? faults : [];
  return callsOfValue(parsed.value, { text, repairs, isMarked: place.isMarked, context });
}

/** Who escapes keys as Markdown does (`"tool\_calls":`) escapes everything. */
function withoutMarkdown(text: string): string {
  return /\\_[\w\\]{0,99}["']\s{0,9}:/.test(text) ? text.replaceAll('\\_', '_') : text;
}

interface WrittenExtent {
  at: number;
  extent: JsonExtent;
  text: string;
}

/** The answer ended inside. Whole members of a list may run when the model stopped by itself; what was cut never does. */
function readUnclosed(context: ReadContext, place: EntryPlace, written: WrittenExtent): Reading {
  const { extent, text } = written;
  const name = visibleName.exec(text.slice(0, 2000))?.[1];
  const calls = context.input.isCut ? [] : salvage(context, written);
  const lastEnd = extent.items.at(-1)?.end ?? written.at;
  const rest = calls.length === 0 ? text : context.input.text.slice(lastEnd, extent.end);
  if (calls.length === 0 && (name === undefined || text.length < 2) && !place.isMarked) return { type: 'none', at: extent.end };
  const isOnlyBracket = calls.length > 0 && /^[\s,\]}]*$/.test(rest);
  const cut: ReadEntry[] = isOnlyBracket
    ? []
    : [{ type: 'damaged', reason: 'truncated', ...(name === undefined || calls.length > 0 ? {} : { name }), text: rest }];
  return { type: 'entries', end: extent.end, entries: [...calls, ...cut] };
}

/** Reads the members of a list one by one, so that a bad one takes none of the others with it. */
function salvage(context: ReadContext, { extent, text }: WrittenExtent): ReadEntry[] {
  if (!envelope.test(text)) return [];
  const entries = extent.items.flatMap(({ start, end, isMendable }): ReadEntry[] => {
    const item = context.input.text.slice(start, end);
    const value = isMendable ? parseTolerantly(item) : undefined;
    const calls =
      value === undefined
        ? undefined
        : callsOfValue(value.value, {
            text: item,
            repairs: value.isRepaired ? ['invalid JSON'] : [],
            isMarked: false,
            context,
          });
    if (calls !== undefined) return calls;
    const name = visibleName.exec(item.slice(0, 2000))?.[1];
    return name === undefined ? [] : [{ type: 'damaged', reason: 'malformed', name, text: item }];
  });
  return entries.some((entry) => entry.type === 'call') ? entries : [];
}

/** The whole answer as one JSON string that holds the JSON. */
export function* readQuotedEntry(context: ReadContext, at: number, place: EntryPlace): Scan<Reading> {
  const end = yield* new QuotedEnd(context.input, at);
  if (end < 0) return { type: 'none', at: at + 1 };
  const text = context.input.text.slice(at, end);
  const decoded = parseStrictly(text);
  const inner = typeof decoded === 'string' ? parseTolerantly(decoded.trim()) : undefined;
  const entries =
    inner === undefined ? undefined : callsOfValue(inner.value, { text, repairs: ['JSON in a string'], isMarked: place.isMarked, context });
  return entries === undefined ? { type: 'none', at: end } : { type: 'entries', end, entries };
}

/** Only the arguments, as an object or as an object in a string. */
export function* readJsonArguments({ input }: ReadContext, at: number, name: string): Scan<Reading> {
  const extent = input.text.charCodeAt(at) === 34 ? stringExtent(input, at, yield* new QuotedEnd(input, at)) : yield* scanJson(input, at);
  if (extent.type === 'failed') return { type: 'none', at: extent.at };
  const { end, isClosed, isMendable, faults } = extent;
  const text = input.text.slice(at, end);
  if (!isClosed) return { type: 'entries', end, entries: [{ type: 'damaged', reason: 'truncated', name, text }] };
  const parsed = isMendable || parseStrictly(text) !== undefined ? parseTolerantly(text) : undefined;
  const entry: ReadEntry =
    parsed === undefined
      ? { type: 'damaged', reason: 'malformed', name, text }
      : callOfArguments(name, parsed.value, { text, repairs: parsed.isRepaired ? faults : [] });
  return { type: 'entries', end, entries: [entry] };
}

function stringExtent(input: GrowingText, at: number, end: number): JsonScan {
  if (end === tooFar) return { type: 'failed', at };
  return {
    type: 'extent',
    end: end === cutOff ? input.text.length : end,
    isClosed: end !== cutOff,
    isMendable: true,
    faults: [],
    items: [],
  };
}
