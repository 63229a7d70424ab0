import { limits } from '../../core/limits.ts';
import type { ReadEntry, Reading, Scan } from './call-pieces.ts';
import { cutOff, findMark, markAt, standsAt, tooFar } from './find-mark.ts';
import { isSpace } from './growing-text.ts';
import type { EntryPlace, ReadContext } from './read-context.ts';
import { readJsonEntry, readQuotedEntry } from './read-json-entry.ts';
import { namedOpenings, readNamedEntry } from './read-named-entry.ts';
import { readPrintedCall, readPythonicCall, readPythonicList } from './read-pythonic.ts';
import { readXmlCall, tagOpenings } from './read-xml-call.ts';
import { readName, skipSpace } from './run-ends.ts';

/** How far behind a fault the mark that ends the block is looked for. */
const maxRecovery = 1024;

/**
 * Characters of white space, comments, separators and opening fences before a call. Without a limit a fence that is never closed is held back until the
 * answer ends, and is then read in one turn of the event loop.
 */
const maxBetweenCalls = 16 * 1024;

/** Of a selection no more is read: what is beyond `limits.callsPerRound` does not run anyway. */
const maxSelected = 2 * limits.callsPerRound;

/** Calls one after another, in any of the forms, up to the closing mark of the block or to what is no call. */
export function* readBlock(context: ReadContext, at: number, place: EntryPlace): Scan<Reading> {
  const { input } = context;
  const entries: ReadEntry[] = [];
  let isRead = false;
  let end = at;
  let position = at;
  for (;;) {
    position = yield* skipSpace(input, position);
    const close = yield* markAt(input, position, place.closes);
    if (close !== undefined && isRead) return { type: 'entries', end: position + close.length, entries };
    if (position >= input.text.length) return isRead ? { type: 'entries', end: position, entries } : { type: 'none', at: position };
    if (position - end > maxBetweenCalls) return isRead ? { type: 'entries', end, entries } : { type: 'none', at: position };
    if (context.isSelection && entries.length > maxSelected) return { type: 'entries', end, entries };
    const character = input.text.charAt(position);
    // Who has chosen nothing does not choose behind that.
    if (isRead && entries.length === 0 && !place.isMarked) return { type: 'entries', end, entries };
    if (isRead && ',;]}'.includes(character)) position++;
    else if (place.allowsComments === true && (character === '#' || (yield* standsAt(input, position, '//')))) {
      const lineEnd = yield* findMark(input, position, { mark: '\n', maxDistance: maxRecovery });
      if (lineEnd === tooFar) return isRead ? { type: 'entries', end, entries } : { type: 'none', at: position };
      position = lineEnd === cutOff ? input.text.length : lineEnd + 1;
    } else if (character === '`' && place.closes.length > 0 && (yield* standsAt(input, position, '```')))
      position = yield* readName(input, position + 3);
    else if (isRead && place.open !== undefined && (yield* standsAt(input, position, place.open))) return { type: 'entries', end, entries };
    else {
      const reading = yield* readEntry(context, position, place);
      const damage =
        reading.type === 'none' && place.isMarked ? yield* skipDamaged(context, { position, failedAt: reading.at, place }) : undefined;
      if (damage !== undefined) return { type: 'entries', end: damage.end, entries: [...entries, damage.entry] };
      if (reading.type !== 'entries') return isRead ? { type: 'entries', end, entries } : reading;
      for (const entry of reading.entries)
        entries.push(entries.length < limits.callsPerRound ? entry : { ...asDamaged(entry), reason: 'too_large' });
      isRead = true;
      end = reading.end;
      position = end;
    }
  }
}

function asDamaged(entry: ReadEntry): Extract<ReadEntry, { type: 'damaged' }> {
  return { type: 'damaged', reason: 'malformed', ...(entry.name === undefined ? {} : { name: entry.name }), text: entry.text };
}

/** No generator itself: waking a paused reader goes through every one above it. */
function readEntry(context: ReadContext, at: number, place: EntryPlace): Scan<Reading> {
  const character = context.input.text.charAt(at);
  if (character === '{') return readJsonEntry(context, at, place);
  if (character === '[') return readListEntry(context, at, place);
  if (character === '"' && (place.isMarked || place.allowsPlainCalls)) return readQuotedEntry(context, at, place);
  if (!place.isMarked) return readPlainEntry(context, at, place);
  return character === '<' ? readTaggedEntry(context, at, place) : readNamedEntry(context, at, place);
}

function* readListEntry(context: ReadContext, at: number, place: EntryPlace): Scan<Reading> {
  const inside = yield* skipSpace(context.input, at + 1);
  const isPythonic = /[\p{L}_]/u.test(context.input.text.charAt(inside));
  return isPythonic ? yield* readPythonicList(context, at, place) : yield* readJsonEntry(context, at, place);
}

function* readTaggedEntry(context: ReadContext, at: number, place: EntryPlace): Scan<Reading> {
  if ((yield* markAt(context.input, at, tagOpenings)) !== undefined) return yield* readXmlCall(context, at);
  if ((yield* markAt(context.input, at, namedOpenings)) !== undefined) return yield* readNamedEntry(context, at, place);
  return yield* readPlainEntry(context, at, place);
}

function* readPlainEntry(context: ReadContext, at: number, place: EntryPlace): Scan<Reading> {
  const mayBegin = place.allowsPlainCalls && !isSpace(context.input.text.charCodeAt(at));
  if (place.allowsPrint === true && (yield* standsAt(context.input, at, 'print('))) return yield* readPrintedCall(context, at, place);
  return mayBegin ? yield* readPythonicCall(context, at, place) : { type: 'none', at };
}

interface Fault {
  position: number;
  failedAt: number;
  place: EntryPlace;
}

/** JSON between marks that cannot be read is a damaged call up to the closing mark, so that the next block is found. */
function* skipDamaged({ input }: ReadContext, { position, failedAt, place }: Fault): Scan<{ entry: ReadEntry; end: number } | undefined> {
  const mark = place.closes[0];
  if (!'{["'.includes(input.text.charAt(position))) return undefined;
  const close = mark === undefined ? -1 : yield* findMark(input, position, { mark, maxDistance: failedAt - position + maxRecovery });
  // Where the closing mark was forgotten, the next block is no part of this one.
  const next = close < 0 || place.open === undefined ? -1 : input.text.slice(failedAt, close).indexOf(place.open);
  const stop = next !== -1 ? failedAt + next : close < 0 ? failedAt : close;
  const end = next !== -1 || close < 0 || mark === undefined ? stop : close + mark.length;
  const text = input.text.slice(position, stop);
  const name = /(?:name|function)["']?\s{0,9}:\s{0,9}["']([^"'{}]{1,128})["']/.exec(text.slice(0, 2000))?.[1];
  if (name === undefined) return undefined;
  return { entry: { type: 'damaged', reason: 'malformed', name, text }, end };
}
