import { limits } from '../../core/limits.ts';
import type { ReadEntry, Reading, Scan } from './call-pieces.ts';
import { findMark, isSpace, markAt, skipSpace, standsAt } from './growing-text.ts';
import type { EntryPlace, ReadContext } from './read-context.ts';
import { readJsonEntry, readQuotedEntry } from './read-json-entry.ts';
import { namedOpenings, readNamedEntry } from './read-named-entry.ts';
import { readName, readPythonicCall, readPythonicList } from './read-pythonic.ts';
import { readXmlCall, tagOpenings } from './read-xml-call.ts';

/** How far behind a fault the mark that ends the block is looked for. */
const maxRecovery = 1024;

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
    if (isRead && ',;]}'.includes(input.text.charAt(position))) position++;
    else if (place.closes.length > 0 && (yield* standsAt(input, position, '```'))) position = yield* readName(input, position + 3);
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

function* readEntry(context: ReadContext, at: number, place: EntryPlace): Scan<Reading> {
  const { input } = context;
  const character = input.text.charAt(at);
  if (character === '{') return yield* readJsonEntry(context, at, place);
  if (character === '[') {
    const inside = yield* skipSpace(input, at + 1);
    const isPythonic = /[\p{L}_]/u.test(input.text.charAt(inside));
    return isPythonic ? yield* readPythonicList(context, at, place) : yield* readJsonEntry(context, at, place);
  }
  if (character === '"' && (place.isMarked || place.allowsPlainCalls)) return yield* readQuotedEntry(context, at, place);
  if (place.isMarked && (yield* markAt(input, at, tagOpenings)) !== undefined) return yield* readXmlCall(context, at);
  if (place.isMarked && (character !== '<' || (yield* markAt(input, at, namedOpenings)) !== undefined))
    return yield* readNamedEntry(context, at, place);
  if (place.allowsPlainCalls && !isSpace(input.text.charCodeAt(at))) return yield* readPythonicCall(context, at, place);
  return { type: 'none', at };
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
  const end = close < 0 || mark === undefined ? failedAt : close + mark.length;
  const text = input.text.slice(position, close < 0 ? failedAt : close);
  const name = /(?:name|function)["']?\s{0,9}:\s{0,9}["']([^"'{}]{1,128})["']/.exec(text.slice(0, 2000))?.[1];
  if (name === undefined) return undefined;
  return { entry: { type: 'damaged', reason: 'malformed', name, text }, end };
}
