import { limits } from '../../../core/limits.ts';
import { damagedCall, entriesTo, entryTo, noCall, plainName, type ReadEntry, type Reading } from '../answer-pieces.ts';
import { matchEnd, spaceEnd } from '../answer-text.ts';
import { readJsonArguments } from './json-calls.ts';
import { calledName, continuesExpression, findBracketEnd, parsePythonicCall } from './pythonic-calls.ts';
import type { ReadContext } from '../read-context.ts';

/** What may precede a call: a bullet or number, a label such as "Call:", quotes. */
const lead = /(?:(?:[-*•]|\d{1,2}[.)])[ \t]{1,9})?(?:(?:function |tool )?(?:calls?|answer|output):\s{0,99})?["'`]{0,3}/iy;
const writtenName = /(?:[\p{L}_]|\\_)(?:[\p{L}\p{N}_./-]|\\_){0,255}/uy;
/**
 * What may separate calls: punctuation, a comment, template tokens. With anything else the line is prose. A comment ends with its line and nowhere
 * else: with other ends, the ways to divide a line of `#` double with each of them.
 */
const separator =
  /(?:[ \t]|[,;`"']|\\(?=\n)|<\|[a-z_]{1,20}\|>|<\/s>|(?:#|\/\/)[^\n]*(?![^\n]))*(?:$|\n\s*|(?<=[,;)][ \t]{0,9})(?=[\p{L}_]))/uy;

/**
 * Reads calls without any marks at the beginning of a selection: `f(a=1); g(b=2)` on one or several lines, or a name on a line by itself and its
 * arguments as JSON. Requires that the answer has ended.
 */
export function readPlainCalls(context: ReadContext, at: number): Reading {
  const { text } = context.input;
  const entries: ReadEntry[] = [];
  let position = matchEnd(lead, text, at) ?? at;
  let end = at;
  for (;;) {
    const reading = readPlainCall(context, position);
    if (reading.type !== 'entries' || entries.length > limits.callsPerRound) break;
    const next = matchEnd(separator, text, reading.end) ?? reading.end;
    if (next === reading.end && next < text.length) return noCall(reading.end);
    entries.push(...reading.entries);
    end = next;
    position = matchEnd(lead, text, end) ?? end;
  }
  return entries.length === 0 ? noCall(at + 1) : entriesTo(end, entries);
}

function readPlainCall(context: ReadContext, at: number): Reading {
  const { input } = context;
  const { text } = input;
  const nameEnd = matchEnd(writtenName, text, at);
  if (nameEnd === undefined) return noCall(at);
  const name = calledName(text.slice(at, nameEnd));
  if (!context.isKnown(name)) return noCall(at);
  if (text[nameEnd] !== '(') return readNameLine(context, at, nameEnd);
  const { end, isClosed } = findBracketEnd(input, nameEnd, true);
  if (isClosed === undefined) return noCall(end);
  if (!isClosed) return entryTo(end, damagedCall('truncated', text.slice(at, end), name));
  if (!continuesExpression(input, end)) return entryTo(end, parsePythonicCall(text.slice(at, end)));
  const lineEnd = text.indexOf('\n', end);
  const stop = lineEnd === -1 ? text.length : lineEnd;
  return entryTo(stop, damagedCall('malformed', text.slice(at, stop), name));
}

/** GLM-4 and others: the name, a line break, the arguments. */
function readNameLine(context: ReadContext, at: number, nameEnd: number): Reading {
  const { text } = context.input;
  const start = spaceEnd(text, nameEnd);
  if (text[start] !== '{' || !text.slice(nameEnd, start).includes('\n')) return noCall(start);
  return readJsonArguments(context, start, plainName(text.slice(at, nameEnd)));
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

/**
 * Applies the rules for selections: a value that is assigned, passed or returned is program code, and the name of the function may be on the line
 * before its JSON.
 */
export function selectionReading(context: ReadContext, { at, start, reading }: { at: number; start: number; reading: Reading }): Reading {
  const { text } = context.input;
  if (reading.type === 'entries')
    return /(?:[=(]|\breturn)\s{0,99}$/.test(text.slice(Math.max(0, at - 100), at)) ? { type: 'data', end: reading.end } : reading;
  const name = text[start] === '{' ? nameBefore(context, at) : undefined;
  if (name === undefined) return reading;
  const named = readJsonArguments(context, start, name);
  const isFitting =
    named.type === 'entries' && named.entries.every((entry) => entry.type === 'call' && context.takes(name, Object.keys(entry.arguments)));
  return isFitting ? named : reading;
}
