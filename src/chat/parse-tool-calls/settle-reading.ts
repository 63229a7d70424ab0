import { findPlaceholder } from '../modes/prompt/find-placeholder.ts';
import type { ReadEntry, Reading, Scan } from './call-pieces.ts';
import type { PieceWriter } from './piece-writer.ts';
import type { ReadContext } from './read-context.ts';
import { withExactName } from './rescue-rules.ts';
import type { RescueRules } from './rescue-rules.ts';

/** Rereading after false starts may cost this many characters and `rereadingShare` times the text, so that hostile text stays linear. */
const freeRereading = 64 * 1024;
const rereadingShare = 4;

export interface Settling {
  /** Where it began, with its marks. */
  at: number;
  reading: Reading;
  /** No unmistakable marks around it. */
  isBare: boolean;
  /** Careful reading of native answers. */
  isRescue: boolean;
  /** What is quoted is text. */
  quotes: RescueRules | undefined;
}

/** Turns what was read into pieces and gives where the search goes on; undefined when it was nothing: then the search goes on behind its first character. */
export function* settleReading(context: ReadContext, writer: PieceWriter, settling: Settling): Scan<number | undefined> {
  const { at, reading, isBare, isRescue } = settling;
  if (reading.type === 'none') return falseStart(writer, at, Math.max(reading.at, writer.input.looked));
  if (reading.type === 'data') return asText(writer, reading.end);
  const entries = isRescue ? reading.entries.map((entry) => withExactName(entry, context.isOffered)) : reading.entries;
  const isSure = !isBare || entries.some((entry) => entry.type === 'call');
  if (isRescue && (!isSure || (isBare && entries.some((entry) => isForbidden(context, entry))))) return asText(writer, reading.end);
  if (settling.quotes !== undefined && (yield* isAnyQuoted(entries, settling.quotes))) return asText(writer, reading.end);
  const text = writer.input.text.slice(at, reading.end);
  if (entries.length === 0) {
    const isSelection = !isRescue && (text.trim() !== '[]' || writer.isFresh);
    if (!isSelection) return asText(writer, reading.end);
    writer.put({ type: 'nothing-chosen', text });
  }
  const [only, ...others] = entries;
  // A single damaged call holds the marks around it too, because it may be shown as it was written.
  const marksBare = isBare && context.isSelection;
  if (only?.type === 'damaged' && others.length === 0) writer.put({ ...only, text, ...(marksBare && { isBare }) });
  else for (const entry of entries) writer.put(marksBare ? { ...entry, isBare } : entry);
  writer.skip(reading.end);
  return behindSearch(writer, reading.end);
}

/** A damaged call may have cost a long search for its end; what that search saw is read again only within the budget. */
function behindSearch(writer: PieceWriter, end: number): number {
  const { looked } = writer.input;
  return looked <= end || mayReread(writer, { from: end, to: looked }) ? end : asText(writer, looked);
}

function mayReread(writer: PieceWriter, { from, to }: { from: number; to: number }): boolean {
  const cost = Math.max(0, to - from);
  if (writer.reread + cost > freeRereading + rereadingShare * (writer.input.dropped + to)) return false;
  writer.reread += cost;
  return true;
}

/** Of calls without marks around them. */
function isForbidden(context: ReadContext, entry: ReadEntry): boolean {
  if (entry.type === 'damaged') return entry.reason === 'unknown_name' || entry.reason === 'ambiguous';
  return findPlaceholder(entry.arguments, context.parametersOf(entry.name) ?? {}) !== undefined;
}

function* isAnyQuoted(entries: readonly ReadEntry[], quotes: RescueRules): Scan<boolean> {
  for (const { text } of entries) {
    while (quotes.mayAsk?.() === false) yield;
    if (quotes.isQuoted(text)) return true;
  }
  return false;
}

function asText(writer: PieceWriter, end: number): number {
  writer.text(end);
  return end;
}

/** The text of a false start is looked at again, as long as that does not add up. */
function falseStart(writer: PieceWriter, at: number, failedAt: number): number | undefined {
  if (!mayReread(writer, { from: at, to: failedAt })) return asText(writer, Math.max(failedAt, at + 1));
  writer.text(at + 1);
  return undefined;
}
