import { BracketEnd } from './bracket-end.ts';
import type { ReadEntry, Reading, Scan } from './call-pieces.ts';
import type { GrowingText } from './growing-text.ts';
import { parsePythonArguments } from './python-literal.ts';
import type { EntryPlace, ReadContext } from './read-context.ts';
import { readName, skipSpace } from './run-ends.ts';

/** `[f(a='x'), g()]`. A call with a fault does not take the others with it; the first one decides whether it is such a list at all. */
export function* readPythonicList(context: ReadContext, at: number, place: EntryPlace): Scan<Reading> {
  const { input } = context;
  const entries: ReadEntry[] = [];
  let position = at + 1;
  for (;;) {
    const start = yield* skipSpace(input, position);
    const call = yield* readPythonicCall(context, start, place);
    if (call.type !== 'entries') {
      if (entries.length === 0) return { type: 'none', at: call.type === 'none' ? call.at : start };
      const end = call.type === 'none' ? Math.max(call.at, start) : start;
      return { type: 'entries', end, entries: [...entries, ...damagedRest(input, start, end)] };
    }
    if (entries.length === 0 && call.entries.every((entry) => entry.type === 'damaged') && !place.isMarked)
      return { type: 'none', at: call.end };
    entries.push(...call.entries);
    position = yield* skipSpace(input, call.end);
    while (input.lacks(position)) yield;
    const next = input.text[position];
    if (next === ']') return { type: 'entries', end: position + 1, entries };
    if (next !== ',') return { type: 'entries', end: call.end, entries };
    position++;
  }
}

function damagedRest(input: GrowingText, start: number, end: number): ReadEntry[] {
  const text = input.text.slice(start, end);
  return text.trim() === '' ? [] : [{ type: 'damaged', reason: input.text.length === end ? 'truncated' : 'malformed', text }];
}

/** `name(a='x', b=1)`, also `name.call(…)`. Without marks around it the name has to be known. */
export function* readPythonicCall(context: ReadContext, at: number, place: EntryPlace): Scan<Reading> {
  const { input } = context;
  const nameEnd = yield* readName(input, at);
  while (input.lacks(nameEnd)) yield;
  const name = input.text.slice(at, nameEnd).replace(/\.call$/, '');
  if (name === '' || input.text[nameEnd] !== '(' || (!place.isMarked && !context.isKnown(name))) return { type: 'none', at: nameEnd };
  const scan = yield* new BracketEnd(input, nameEnd);
  if (scan.type === 'failed') return { type: 'none', at: scan.at };
  const text = input.text.slice(at, scan.end);
  if (!scan.isClosed) return { type: 'entries', end: scan.end, entries: [{ type: 'damaged', reason: 'truncated', name, text }] };
  const args = parsePythonArguments(input.text.slice(nameEnd + 1, scan.end - 1));
  const entry: ReadEntry =
    args === undefined ? { type: 'damaged', reason: 'malformed', name, text } : { type: 'call', name, arguments: args, text, repairs: [] };
  return { type: 'entries', end: scan.end, entries: [entry] };
}
