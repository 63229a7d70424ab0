import { plainName } from './plain-name.ts';
import type { Reading, Scan } from './call-pieces.ts';
import { findMark, standsAt } from './find-mark.ts';
import type { GrowingText } from './growing-text.ts';
import type { PieceWriter } from './piece-writer.ts';
import { readBlock } from './read-block.ts';
import type { ReadContext } from './read-context.ts';
import { readJsonArguments } from './read-json-entry.ts';
import { readName, skipSpace } from './run-ends.ts';

type Label = 'thought' | 'action' | 'action input' | 'observation' | 'final answer';
const labels: Label[] = ['thought', 'action', 'action input', 'observation', 'final answer'];
const maxLabel = 40;

/** A label at the beginning of a line, with `**` and the like around it; `end` is behind its colon. */
export function* labelAt(input: GrowingText, lineStart: number): Scan<{ label: Label; end: number } | undefined> {
  let position = lineStart;
  let words = '';
  for (;;) {
    while (input.lacks(position)) yield;
    const character = input.text.charAt(position);
    if (character === ':') break;
    words += /[*#_>\s\d]/.test(character) ? ' ' : character.toLowerCase();
    const begun = words.replaceAll(/ +/g, ' ').trim();
    const isPossible =
      character !== '' && character !== '\n' && position - lineStart < maxLabel && labels.some((label) => label.startsWith(begun));
    if (!isPossible) return undefined;
    position++;
  }
  const label = labels.find((candidate) => candidate === words.replaceAll(/ +/g, ' ').trim());
  if (label === undefined) return undefined;
  position++;
  for (;;) {
    while (input.lacks(position)) yield;
    if (input.text[position] !== '*') return { label, end: position };
    position++;
  }
}

/**
 * Thought / Action / Action Input / Observation / Final Answer, from a label on. Thoughts and observations are reasoning (an observation that the
 * model wrote itself is invention), a final answer is text to the end.
 */
export function* readReact(context: ReadContext, writer: PieceWriter, first: { label: Label; end: number }): Scan<void> {
  let found: { label: Label; end: number } | undefined = first;
  while (found !== undefined) {
    writer.skip(found.end);
    if (found.label === 'final answer') return yield* writeRest(writer);
    found = found.label === 'action' ? yield* readAction(context, writer) : yield* writeSection(writer);
  }
}

function* writeRest(writer: PieceWriter): Scan<void> {
  while (true) {
    writer.text(writer.input.text.length);
    if (writer.input.isEnded) return;
    writer.release();
    yield;
  }
}

/** Reasoning up to the next label. */
function* writeSection(writer: PieceWriter): Scan<{ label: Label; end: number } | undefined> {
  const { input } = writer;
  for (;;) {
    const at = input.text.indexOf('\n', writer.cursor);
    if (at !== -1) {
      writer.reasoning(at);
      const label = yield* labelAt(input, at + 1);
      if (label !== undefined) return label;
      writer.reasoning(at + 1);
    } else {
      writer.reasoning(input.text.length);
      if (input.isEnded) return undefined;
      writer.release();
      yield;
    }
  }
}

function* readAction(context: ReadContext, writer: PieceWriter): Scan<{ label: Label; end: number } | undefined> {
  const { input } = context;
  const start = yield* skipSpace(input, writer.cursor);
  if (input.text[start] === '{' || (yield* standsAt(input, start, '```'))) {
    const fence = input.text[start] === '{' ? start : yield* readName(input, start + 3);
    const reading = yield* readBlock(context, fence, { isMarked: true, closes: ['```'], allowsPlainCalls: false, givesUpEarly: false });
    putEntries(writer, reading);
    return yield* writeSection(writer);
  }
  const lineEnd = yield* findMark(input, start, { mark: '\n', maxDistance: 4096 });
  const isLast = lineEnd < 0;
  const nameEnd = isLast ? input.text.length : lineEnd;
  const name = plainName(input.text.slice(start, nameEnd).replaceAll(/[`'"[\]*]|\(\)/g, ' '));
  if (isLast && lineEnd === -1) return yield* writeSection(writer);
  const line = yield* skipSpace(input, nameEnd);
  const label = isLast ? undefined : yield* labelAt(input, line);
  if (label?.label === 'action input') return yield* readInput(context, writer, { name, start: label.end });
  if (/\w\(.*\)$/.test(name))
    putEntries(writer, yield* readBlock(context, start, { isMarked: true, closes: [], allowsPlainCalls: true, givesUpEarly: false }));
  else if (name !== '' && !/^(?:none|n\/a|final answer)$/i.test(name)) {
    const text = input.text.slice(start, nameEnd);
    writer.put(
      input.isCut && isLast
        ? { type: 'damaged', reason: 'truncated', name, text }
        : { type: 'call', name, arguments: {}, text, repairs: [] },
    );
    writer.skip(nameEnd);
  }
  return label ?? (yield* writeSection(writer));
}

function* readInput(
  context: ReadContext,
  writer: PieceWriter,
  { name, start }: { name: string; start: number },
): Scan<{ label: Label; end: number } | undefined> {
  const { input } = context;
  let at = yield* skipSpace(input, start);
  const isFenced = yield* standsAt(input, at, '```');
  if (isFenced) at = yield* skipSpace(input, yield* readName(input, at + 3));
  const isJson = input.text[at] === '{' || input.text[at] === '"';
  const reading = isJson ? yield* readJsonArguments(context, at, name) : undefined;
  if (reading?.type === 'entries') {
    putEntries(writer, reading);
    const after = yield* skipSpace(input, reading.end);
    if (isFenced && (yield* standsAt(input, after, '```'))) writer.skip(after + 3);
  } else {
    const lineEnd = yield* findMark(input, at, { mark: '\n', maxDistance: 64 * 1024 });
    const end = lineEnd < 0 ? input.text.length : lineEnd;
    const text = input.text.slice(at, end);
    const isNothing = /^(?:none|null|n\/a)?$/i.test(text.trim());
    const isCut = input.isCut && lineEnd < 0;
    writer.put(
      isNothing && !isCut
        ? { type: 'call', name, arguments: {}, text, repairs: [] }
        : { type: 'damaged', reason: isCut ? 'truncated' : 'malformed', name, text },
    );
    writer.skip(end);
  }
  return yield* writeSection(writer);
}

function putEntries(writer: PieceWriter, reading: Reading): void {
  if (reading.type !== 'entries') return;
  for (const entry of reading.entries) writer.put(entry);
  writer.skip(reading.end);
}
