import { BracketEnd } from './bracket-end.ts';
import { callOfText, calledName, membersOf } from './call-of-text.ts';
import type { ReadEntry, Reading, Scan } from './call-pieces.ts';
import type { GrowingText } from './growing-text.ts';
import type { EntryPlace, ReadContext } from './read-context.ts';
import { readName, skipSpace } from './run-ends.ts';

/**
 * `[f(a='x'), g()]`, read as a whole once its bracket has closed. A member with a fault does not take the others with it; what is written around or
 * between calls (`f(a=1) + f(a=2)`) makes its member no call.
 */
export function* readPythonicList(context: ReadContext, at: number, place: EntryPlace): Scan<Reading> {
  const { input } = context;
  const first = yield* skipSpace(input, at + 1);
  const nameEnd = yield* readName(input, first);
  while (input.lacks(nameEnd)) yield;
  if (!mayBeCall(context, place, { start: first, nameEnd })) return { type: 'none', at: nameEnd };
  const scan = yield* new BracketEnd(input, at, { takesExpressions: takesExpressions(context, place) });
  const end = scan.type === 'failed' ? scan.at : scan.end;
  const isClosed = scan.type === 'end' && scan.isClosed;
  const entries = entriesOf(membersOf(input.text, at + 1, isClosed ? end - 1 : end), { isClosed, isEnded: end >= input.text.length });
  const [firstEntry] = entries;
  const isList = entries.some((entry) => entry.type === 'call') && (context.isSelection || firstEntry?.type === 'call');
  if (firstEntry === undefined || (!isList && !place.isMarked && !context.isSelection)) return { type: 'none', at: end };
  return { type: 'entries', end, entries };
}

/** A name before a bracket. Without marks around it the name has to be known. */
function mayBeCall({ input, isKnown }: ReadContext, place: EntryPlace, { start, nameEnd }: { start: number; nameEnd: number }): boolean {
  if (nameEnd === start || input.text[nameEnd] !== '(') return false;
  return place.isMarked || isKnown(calledName(input.text.slice(start, nameEnd)));
}

/** Where a bracket is surely a call's, an operator in a value is a fault of that call, and no sign of prose. */
function takesExpressions(context: ReadContext, place: EntryPlace): boolean {
  return place.isMarked || context.isSelection;
}

function entriesOf(members: string[], { isClosed, isEnded }: { isClosed: boolean; isEnded: boolean }): ReadEntry[] {
  const entries: ReadEntry[] = [];
  for (const [index, member] of members.entries()) {
    const text = member.trim();
    const isLast = index === members.length - 1;
    if (text === '' && isLast) break;
    const entry = callOfText(text);
    const isWhole = isClosed || !isLast || (entry.type === 'call' && text.endsWith(')'));
    entries.push(isWhole ? entry : { ...asDamaged(entry), reason: isEnded ? 'truncated' : 'malformed' });
  }
  return entries;
}

function asDamaged(entry: ReadEntry): Extract<ReadEntry, { type: 'damaged' }> {
  return { type: 'damaged', reason: 'malformed', ...(entry.name === undefined ? {} : { name: entry.name }), text: entry.text };
}

/** `name(a='x', b=1)`, also `name.call(…)`. Part of an expression (`f(a=1) + f(a=2)`, `f(a=1) if ready else g()`) it is damaged. */
export function* readPythonicCall(context: ReadContext, at: number, place: EntryPlace): Scan<Reading> {
  const { input } = context;
  const nameEnd = yield* readName(input, at);
  while (input.lacks(nameEnd)) yield;
  if (!mayBeCall(context, place, { start: at, nameEnd })) return { type: 'none', at: nameEnd };
  const scan = yield* new BracketEnd(input, nameEnd, { takesExpressions: takesExpressions(context, place) });
  if (scan.type === 'failed') return { type: 'none', at: scan.at };
  const text = input.text.slice(at, scan.end);
  if (!scan.isClosed) {
    const name = calledName(input.text.slice(at, nameEnd));
    return { type: 'entries', end: scan.end, entries: [{ type: 'damaged', reason: 'truncated', name, text }] };
  }
  while (input.lacks(scan.end + longestContinuation)) yield;
  const entry = callOfText(text);
  return { type: 'entries', end: scan.end, entries: [continuesExpression(input, scan.end) ? asDamaged(entry) : entry] };
}

/** `print(name(a='x'))`, with nothing else in the bracket and nothing behind it. */
export function* readPrintedCall(context: ReadContext, at: number, place: EntryPlace): Scan<Reading> {
  const { input } = context;
  const reading = yield* readPythonicCall(context, yield* skipSpace(input, at + 'print('.length), place);
  if (reading.type !== 'entries') return reading;
  const close = yield* skipSpace(input, reading.end);
  while (input.lacks(close + 1 + longestContinuation)) yield;
  if (input.text[close] !== ')' || continuesExpression(input, close + 1)) return { type: 'none', at: close };
  return { ...reading, end: close + 1 };
}

/** Spaces and the longest operator or word that is looked for behind a call. */
const longestContinuation = 12;
const continuation = /[ \t]{0,4}(?:[-+*%=&^?.(]|\/(?!\/)|\|\||[<>]=?[ \t]|!=|(?:if|and|or|for|in|is|not|else)\b)/y;

/** Whether what stands behind a call, on its line, makes it a part of something larger. */
export function continuesExpression({ text }: GrowingText, at: number): boolean {
  continuation.lastIndex = at;
  return continuation.test(text);
}
