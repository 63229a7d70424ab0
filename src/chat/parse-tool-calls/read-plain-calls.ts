import { limits } from '../../core/limits.ts';
import { BracketEnd } from './bracket-end.ts';
import { callOfText, calledName } from './call-of-text.ts';
import type { ReadEntry, Reading, Scan } from './call-pieces.ts';
import { spaceEnd } from './growing-text.ts';
import { plainName } from './plain-name.ts';
import type { ReadContext } from './read-context.ts';
import { readJsonArguments } from './read-json-entry.ts';
import { continuesExpression } from './read-pythonic.ts';

/** What may stand before the first call: a label, a bullet, a quotation mark of Markdown. */
const lead = /(?:(?:[-*•]|\d{1,2}[.)])[ \t]{1,9})?(?:(?:function |tool )?(?:calls?|answer|output):\s{0,99})?["'`]{0,3}/iy;
const writtenName = /(?:[\p{L}_]|\\_)(?:[\p{L}\p{N}_./-]|\\_){0,255}/uy;
/** Between calls: nothing but separators, a comment, and tokens of templates; else the line is prose. */
const separator =
  /(?:[ \t]|[,;`"']|\\(?=\n)|<\|[a-z_]{1,20}\|>|<\/s>|(?:#|\/\/)[^\n]{0,4096})*(?:$|\n\s*|(?<=[,;)][ \t]{0,9})(?=[\p{L}_]))/uy;

/**
 * Calls without anything around them, with which a selection may begin: `f(a=1); g(b=2)` on one line or several, or a name on a line of its own and
 * its arguments as JSON. The answer has ended.
 */
export function* readPlainCalls(context: ReadContext, at: number): Scan<Reading> {
  const { text } = context.input;
  const entries: ReadEntry[] = [];
  let position = at + lengthAt(lead, text, at);
  let end = at;
  for (;;) {
    const reading = yield* readPlainCall(context, position);
    if (reading.type !== 'entries' || entries.length > limits.callsPerRound) break;
    const length = lengthAt(separator, text, reading.end);
    const isAtEnd = reading.end + length >= text.length;
    if (length === 0 && !isAtEnd) return { type: 'none', at: reading.end };
    entries.push(...reading.entries);
    end = reading.end + length;
    position = end + lengthAt(lead, text, end);
  }
  return entries.length === 0 ? { type: 'none', at: at + 1 } : { type: 'entries', end, entries };
}

function* readPlainCall(context: ReadContext, at: number): Scan<Reading> {
  const { input } = context;
  const nameEnd = at + lengthAt(writtenName, input.text, at);
  const name = calledName(input.text.slice(at, nameEnd));
  if (nameEnd === at || !context.isKnown(name)) return { type: 'none', at };
  if (input.text[nameEnd] !== '(') return yield* readNameLine(context, { at, nameEnd });
  const scan = yield* new BracketEnd(input, nameEnd, { takesExpressions: true });
  if (scan.type === 'failed') return { type: 'none', at: scan.at };
  if (!scan.isClosed) {
    const text = input.text.slice(at, scan.end);
    return { type: 'entries', end: scan.end, entries: [{ type: 'damaged', reason: 'truncated', name, text }] };
  }
  if (!continuesExpression(input, scan.end))
    return { type: 'entries', end: scan.end, entries: [callOfText(input.text.slice(at, scan.end))] };
  const lineEnd = input.text.indexOf('\n', scan.end);
  const end = lineEnd === -1 ? input.text.length : lineEnd;
  return { type: 'entries', end, entries: [{ type: 'damaged', reason: 'malformed', name, text: input.text.slice(at, end) }] };
}

/** GLM-4 and others: the name, a line break, the arguments. */
function* readNameLine(context: ReadContext, { at, nameEnd }: { at: number; nameEnd: number }): Scan<Reading> {
  const { text } = context.input;
  const start = spaceEnd(text, nameEnd);
  if (text[start] !== '{' || !text.slice(nameEnd, start).includes('\n')) return { type: 'none', at: start };
  return yield* readJsonArguments(context, start, plainName(text.slice(at, nameEnd)));
}

function lengthAt(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0].length ?? 0;
}

/** A line that holds a name and nothing else but Markdown; or the end of a sentence and the name. */
const nameLine = /(?:^|\n)[ \t>*#-]{0,9}["'`*_]{0,3}((?:[\p{L}\p{N}_./-]|\\_){1,256}?)["'`*:]{0,4}[ \t]*\n\s{0,99}$/u;
const gluedName = /[.!?:]([\p{L}_][\p{L}\p{N}_.-]{2,255})[ \t]*\n\s{0,99}$/u;

/** The function whose arguments the JSON at `at` is, because its name stands on the line before. */
export function nameBefore({ input, isKnown, isOffered }: ReadContext, at: number): string | undefined {
  const before = input.text.slice(Math.max(0, at - 400), at);
  const onLine = nameLine.exec(before)?.[1];
  if (onLine !== undefined && isKnown(plainName(onLine))) return plainName(onLine);
  const glued = gluedName.exec(before)?.[1];
  return glued !== undefined && isOffered(glued) ? glued : undefined;
}
