import { limits } from '../../../core/limits.ts';
import { damagedCall, entriesTo, entryTo, noCall, plainName, readCall, type ReadEntry, type Reading } from '../answer-pieces.ts';
import { cutOff, matchEnd, tooFar, type AnswerText } from '../answer-text.ts';
import { parsePythonArguments } from './python-literal.ts';
import type { Enclosure, ReadContext } from '../read-context.ts';

/** `[f(a='x'), g()]`. A bad member does not invalidate the others. A member that is more than a single call, such as `f(a=1) + f(a=2)`, is damaged. */
export function readPythonicList(context: ReadContext, at: number, enclosure: Enclosure): Reading {
  const { input } = context;
  const first = input.skipSpace(at + 1);
  const nameEnd = input.nameEnd(first);
  if (!mayBeCall(context, enclosure, { start: first, nameEnd })) return noCall(nameEnd);
  const { end, isClosed, commas } = findBracketEnd(input, at, takesExpressions(context, enclosure));
  const ends = [...commas, isClosed === true ? end - 1 : end];
  const members = ends.map((memberEnd, index) => input.text.slice((ends[index - 1] ?? at) + 1, memberEnd));
  const reason = end >= input.text.length ? 'truncated' : 'malformed';
  const entries: ReadEntry[] = [];
  for (const [index, member] of members.entries()) {
    const text = member.trim();
    const isLast = index === members.length - 1;
    if (text === '' && isLast) break;
    const entry = parsePythonicCall(text);
    const isWhole = isClosed === true || !isLast || entry.type === 'call';
    entries.push(isWhole ? entry : damagedCall(reason, text, entry.name));
  }
  const isSure = enclosure.isMarked || context.isSelection;
  const isList = isSure || entries[0]?.type === 'call';
  return entries.length > 0 && isList ? entriesTo(end, entries) : noCall(end);
}

/** `name(a='x', b=1)`, also `name.call(…)`. As part of an expression (`f(a=1) + f(a=2)`, `f(a=1) if ready else g()`) it is damaged. */
export function readPythonicCall(context: ReadContext, at: number, enclosure: Enclosure): Reading {
  const { input } = context;
  const nameEnd = input.nameEnd(at);
  if (!mayBeCall(context, enclosure, { start: at, nameEnd })) return noCall(nameEnd);
  const { end, isClosed } = findBracketEnd(input, nameEnd, takesExpressions(context, enclosure));
  if (isClosed === undefined) return noCall(end);
  const text = input.text.slice(at, end);
  if (!isClosed) return entryTo(end, damagedCall('truncated', text, calledName(input.text.slice(at, nameEnd))));
  const entry = parsePythonicCall(text);
  return entryTo(end, continuesExpression(input, end) ? damagedCall('malformed', text, entry.name) : entry);
}

/** `print(name(a='x'))`, with nothing else in the bracket and nothing after it. */
export function readPrintedCall(context: ReadContext, at: number, enclosure: Enclosure): Reading {
  const { input } = context;
  const reading = readPythonicCall(context, input.skipSpace(at + 'print('.length), enclosure);
  if (reading.type !== 'entries') return reading;
  const close = input.skipSpace(reading.end);
  const isAlone = input.at(close) === ')' && !continuesExpression(input, close + 1);
  return isAlone ? { ...reading, end: close + 1 } : noCall(close);
}

/** Whether a name and a bracket may begin a call. Without marks around it the name must be known. */
function mayBeCall(
  { input, isKnown }: ReadContext,
  { isMarked }: Enclosure,
  { start, nameEnd }: { start: number; nameEnd: number },
): boolean {
  if (nameEnd === start || input.at(nameEnd) !== '(') return false;
  return isMarked || isKnown(calledName(input.text.slice(start, nameEnd)));
}

/** Whether an operator inside the brackets makes the call damaged; elsewhere it shows that the text is prose. */
function takesExpressions(context: ReadContext, { isMarked }: Enclosure): boolean {
  return isMarked || context.isSelection;
}

const closings: Partial<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };
const literals = /[\s\w\-+./=:\u0100-\uffff]*/y;
/** Never `<`, which may begin a mark. */
const expressions = /[\s\w\-+./=:\u0100-\uffff*%!&^~@#$?|>\\;]*/y;

interface BracketEnd {
  end: number;
  /** False when the answer ended inside; undefined when it is prose, as was seen at `end`. */
  isClosed: boolean | undefined;
  /** Where commas separate what the bracket holds. */
  commas: number[];
}

/** Finds the end of the bracket at `start`. Outside strings it may hold only literals or, with `takesOperators`, expressions; otherwise it is prose. */
export function findBracketEnd(input: AnswerText, start: number, takesOperators: boolean): BracketEnd {
  const { text } = input;
  const last = start + limits.argumentsBytes;
  const expected: string[] = [];
  const commas: number[] = [];
  let end = start;
  do {
    end = Math.min(matchEnd(takesOperators ? expressions : literals, text, end) ?? end, last + 1);
    if (end >= text.length && end <= last) {
      input.need(end);
      return { end, isClosed: false, commas };
    }
    const character = text.charAt(end);
    if (end > last || expected.length > limits.jsonDepth) return { end, isClosed: undefined, commas };
    if (character === '"' || character === "'") {
      const stringEnd = input.stringEnd(end);
      if (stringEnd === tooFar) return { end, isClosed: undefined, commas };
      if (stringEnd === cutOff) return { end: text.length, isClosed: false, commas };
      end = stringEnd;
      continue;
    }
    const closing = closings[character];
    if (closing !== undefined) expected.push(closing);
    else if (character === ',') {
      if (expected.length === 1) commas.push(end);
    } else if (expected.pop() !== character) return { end, isClosed: undefined, commas };
    end += 1;
  } while (expected.length > 0);
  return { end, isClosed: true, commas };
}

/** Characters of the longest match of `continuation`. */
const longestContinuation = 12;
/** Not the end of bold text. */
const continuation = /[ \t]{0,4}(?!\*\*(?:\s|$))(?:[-+*%=&^?.(]|\/(?!\/)|\|\||[<>]=?[ \t]|!=|(?:if|and|or|for|in|is|not|else)\b)/y;

/** Whether the text after a call, on the same line, makes it part of a larger expression. */
export function continuesExpression(input: AnswerText, at: number): boolean {
  input.need(at + longestContinuation);
  return matchEnd(continuation, input.text, at) !== undefined;
}

const nameAndBracket = /(?:[\w./-]|[^\0-\u00ff\s]|\\_){1,256}\(/y;
const markdownEscape = /\\([_*[\]])/g;

/** Parses a text that should be exactly one call; otherwise the result is a damaged call. */
export function parsePythonicCall(text: string): ReadEntry {
  const start = matchEnd(nameAndBracket, text, 0);
  if (start === undefined) return damagedCall('malformed', text);
  const written = text.slice(0, start - 1);
  const name = calledName(written);
  const args = text.endsWith(')') ? parseArguments(text.slice(start, -1), written) : undefined;
  return args === undefined ? damagedCall('malformed', text, name) : readCall(name, args, text);
}

/** A model that escapes the name as in Markdown escapes everything. */
function parseArguments(inside: string, name: string): ReturnType<typeof parsePythonArguments> {
  if (!inside.includes('\\')) return parsePythonArguments(inside);
  const plain = inside.replaceAll(markdownEscape, '$1');
  if (name.includes('\\')) return parsePythonArguments(plain);
  return parsePythonArguments(inside) ?? (plain === inside ? undefined : parsePythonArguments(plain));
}

/** The name of the function as written before a bracket, without `.call`. */
export function calledName(written: string): string {
  return plainName(written).replace(/\.call$/, '');
}
