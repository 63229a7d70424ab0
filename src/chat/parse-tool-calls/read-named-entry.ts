import type { JsonValue } from '../../shared/json.ts';
import { limits } from '../../core/limits.ts';
import { plainName } from './plain-name.ts';
import type { Reading, Scan } from './call-pieces.ts';
import { cutOff, findMark, markAt, standsAt } from './find-mark.ts';
import { withoutOuterBreaks } from './growing-text.ts';
import type { EntryPlace, ReadContext } from './read-context.ts';
import { readJsonArguments } from './read-json-entry.ts';
import { readPythonicCall } from './read-pythonic.ts';
import { typeParameter } from './type-parameter.ts';
import { readName, skipSpace } from './run-ends.ts';

/** DeepSeek writes its marks with full-width bars; distilled models with ASCII ones. */
const separators = ['<｜tool▁sep｜>', '<|tool▁sep|>'];
const callBegins = ['<｜tool▁call▁begin｜>', '<|tool▁call▁begin|>', '<|tool_call_begin|>'];
const callEnds = ['<｜tool▁call▁end｜>', '<|tool▁call▁end|>', '<|tool_call_end|>'];
const argumentMarks = ['[ARGS]', '<|tool_call_argument_begin|>'];

const maxKey = 256;

/** What a single call of Kimi or DeepSeek begins with. */
export const namedOpenings = callBegins;

/** Calls whose name stands before the arguments: Mistral, DeepSeek, Kimi, GLM, `name(…)`, `name{…}`. */
export function* readNamedEntry(context: ReadContext, at: number, place: EntryPlace): Scan<Reading> {
  const { input } = context;
  const begin = input.text[at] === '<' ? yield* markAt(input, at, callBegins) : undefined;
  const start = yield* skipSpace(input, at + (begin?.length ?? 0));
  let nameEnd = yield* readName(input, start);
  // Kimi counts the calls: `functions.get_time:0`.
  if (begin !== undefined && input.text[nameEnd] === ':') nameEnd = yield* readName(input, nameEnd + 1);
  const name = plainName(input.text.slice(start, nameEnd));
  if (nameEnd === start) return { type: 'none', at: start };
  if (name === 'assistant') return yield* readAddressed(context, nameEnd);
  let position = yield* skipSpace(input, nameEnd);
  if (input.text[position] === '(' && position === nameEnd) return yield* readPythonicCall(context, start, place);
  if (input.text[position] === '{') return yield* readPayload(context, { at, name, start: position });
  const separator = yield* markAt(input, position, separators);
  if (separator !== undefined) return yield* readSeparated(context, { at, name, start: position + separator.length });
  if (yield* standsAt(input, position, '[CALL_ID]'))
    position = yield* skipSpace(input, yield* readName(input, position + '[CALL_ID]'.length));
  if (yield* standsAt(input, position, '<arg_key>')) return yield* readKeysAndValues(context, { at, name, start: position, place });
  const mark = yield* markAt(input, position, argumentMarks);
  const payload = yield* skipSpace(input, position + (mark?.length ?? 0));
  if (input.text[payload] === '{' || (mark !== undefined && input.text[payload] === '"'))
    return yield* readPayload(context, { at, name, start: payload });
  const isWhole = mark === undefined && begin === undefined && (yield* markAt(input, position, place.closes)) !== undefined;
  if (!isWhole) return { type: 'none', at: position };
  return {
    type: 'entries',
    end: position,
    entries: [{ type: 'call', name, arguments: {}, text: input.text.slice(at, position), repairs: [] }],
  };
}

interface NamedCall {
  at: number;
  name: string;
  /** Where the part after the name begins. */
  start: number;
}

/** The arguments, in a fence or not, with the mark that ends a call. */
function* readPayload(context: ReadContext, { at, name, start }: NamedCall): Scan<Reading> {
  const { input } = context;
  const reading = yield* readJsonArguments(context, start, name);
  if (reading.type !== 'entries') return yield* skipDamaged(context, { at, name, start });
  let end = reading.end;
  const after = yield* skipSpace(input, end);
  const fenceEnd = (yield* standsAt(input, after, '```')) ? after + 3 : end;
  const closeAt = yield* skipSpace(input, fenceEnd);
  const close = yield* markAt(input, closeAt, callEnds);
  end = close === undefined ? fenceEnd : closeAt + close.length;
  const text = input.text.slice(at, end);
  return { type: 'entries', end, entries: reading.entries.map((entry) => ({ ...entry, text })) };
}

/** A call that cannot be read is left behind up to the mark that ends it. */
function* skipDamaged(context: ReadContext, { at, name, start }: NamedCall): Scan<Reading> {
  const { input } = context;
  for (const mark of callEnds) {
    if (!input.text.startsWith('<', at) || mark.includes('▁') !== input.text.slice(at, start).includes('▁')) continue;
    const close = yield* findMark(input, start, { mark, maxDistance: limits.argumentsBytes });
    if (close >= 0) return damaged(context, { at, name, start: close + mark.length });
  }
  const isBraced = input.text[start] === '{';
  const close = isBraced ? yield* findMark(input, start, { mark: '}', maxDistance: 1024 }) : -1;
  return close < 0 ? { type: 'none', at: start } : damaged(context, { at, name, start: close + 1 });
}

function damaged({ input }: ReadContext, { at, name, start: end }: NamedCall): Reading {
  return { type: 'entries', end, entries: [{ type: 'damaged', reason: 'malformed', name, text: input.text.slice(at, end) }] };
}

/** DeepSeek: `function<sep>name`, a line break and a fence with the arguments, or `name<sep>` and the arguments. */
function* readSeparated(context: ReadContext, { at, name, start }: NamedCall): Scan<Reading> {
  const { input } = context;
  const first = yield* skipSpace(input, start);
  if (input.text[first] === '{' || input.text[first] === '"') return yield* readPayload(context, { at, name, start: first });
  const nameEnd = yield* readName(input, first);
  let position = yield* skipSpace(input, nameEnd);
  if (yield* standsAt(input, position, '```')) position = yield* skipSpace(input, yield* readName(input, position + 3));
  if (nameEnd === first || (input.text[position] !== '{' && input.text[position] !== '"')) return { type: 'none', at: position };
  return yield* readPayload(context, { at, name: plainName(input.text.slice(first, nameEnd)), start: position });
}

/** GLM: `<arg_key>k</arg_key><arg_value>v</arg_value>` after the name. */
function* readKeysAndValues(context: ReadContext, { at, name, start, place }: NamedCall & { place: EntryPlace }): Scan<Reading> {
  const { input } = context;
  const entries: [string, JsonValue][] = [];
  let position = start;
  const damagedTo = (end: number, reason: 'truncated' | 'malformed'): Reading => ({
    type: 'entries',
    end,
    entries: [{ type: 'damaged', reason, name, text: input.text.slice(at, end) }],
  });
  for (;;) {
    position = yield* skipSpace(input, position);
    if (!(yield* standsAt(input, position, '<arg_key>'))) break;
    const key = yield* between(context, position, { tag: 'arg_key', maxDistance: maxKey });
    if (key === 'cut') return damagedTo(input.text.length, 'truncated');
    if (key === 'none' || key.text.includes('<')) return damagedTo(position, 'malformed');
    const valueAt = yield* skipSpace(input, key.end);
    const value = (yield* standsAt(input, valueAt, '<arg_value>'))
      ? yield* between(context, valueAt, { tag: 'arg_value', maxDistance: limits.argumentsBytes })
      : 'none';
    if (value === 'cut') return damagedTo(input.text.length, 'truncated');
    if (value === 'none') return damagedTo(valueAt, valueAt >= input.text.length ? 'truncated' : 'malformed');
    entries.push([key.text.trim(), typeParameter(withoutOuterBreaks(value.text), context.schemaOf(name, key.text.trim()))]);
    position = value.end;
  }
  const isAtEnd = position >= input.text.length;
  const isClosed = (yield* markAt(input, position, place.closes)) !== undefined;
  // The closing mark may have been taken for a stop word, but not where the answer was cut.
  if (!isClosed && (!isAtEnd || input.isCut)) return damagedTo(position, isAtEnd ? 'truncated' : 'malformed');
  const args = Object.fromEntries(entries.filter(([key]) => key !== '__proto__'));
  return {
    type: 'entries',
    end: position,
    entries: [{ type: 'call', name, arguments: args, text: input.text.slice(at, position), repairs: [] }],
  };
}

function* between(
  { input }: ReadContext,
  at: number,
  { tag, maxDistance }: { tag: string; maxDistance: number },
): Scan<{ text: string; end: number } | 'cut' | 'none'> {
  const start = at + tag.length + 2;
  const mark = `</${tag}>`;
  const close = yield* findMark(input, start, { mark, maxDistance });
  if (close < 0) return close === cutOff ? 'cut' : 'none';
  return { text: input.text.slice(start, close), end: close + mark.length };
}

/** `assistant to=functions.name json` and the arguments: a harmony header that lost its marks. */
function* readAddressed(context: ReadContext, from: number): Scan<Reading> {
  const { input } = context;
  const to = yield* skipSpace(input, from);
  if (!(yield* standsAt(input, to, 'to='))) return { type: 'none', at: to };
  const nameEnd = yield* readName(input, to + 3);
  let position = yield* skipSpace(input, nameEnd);
  if (yield* standsAt(input, position, 'json')) position = yield* skipSpace(input, position + 4);
  const name = plainName(input.text.slice(to + 3, nameEnd));
  if (name === '' || input.text[position] !== '{') return { type: 'none', at: position };
  return yield* readPayload(context, { at: to, name, start: position });
}
