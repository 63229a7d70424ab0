import { callsOfValue } from './calls-of-value.ts';
import type { Reading, Scan } from './call-pieces.ts';
import { maxMendable, parseTolerantly } from './parse-json.ts';
import type { ReadContext } from './read-context.ts';

const beginning = /^\{\s{0,99}\\?["']?(?:name|tool_calls?)\\?["']?\s{0,99}:/;
/** A value that begins with a letter is a variable or an expression, and the repair would make text of it. */
const unquotedValue = /["']\s{0,99}:\s{0,99}(?!(?:true|false|null|True|False|None)\b)[\p{L}_$]/u;
const maxBeginning = 256;
const nameKey = /\\?["']?\bname\\?["']?\s{0,99}:/g;

/**
 * The last attempt at an answer that is one call in broken JSON (quotes inside a string, everything escaped once too often): only when it is the
 * whole answer, was not cut, names one offered function once, and ends with a brace.
 */
export function* readMangledAnswer(context: ReadContext, at: number): Scan<Reading> {
  const { input } = context;
  const nothing: Reading = { type: 'none', at: at + 1 };
  while (!input.isEnded && input.text.length - at < maxBeginning) yield;
  if (!beginning.test(input.text.slice(at, at + maxBeginning))) return nothing;
  while (!input.isEnded && input.text.length - at <= maxMendable) yield;
  const text = input.text.slice(at).trimEnd();
  if (
    input.text.length - at > maxMendable ||
    input.isCut ||
    unquotedValue.test(text) ||
    !text.endsWith('}') ||
    [...text.matchAll(nameKey)].length !== 1
  )
    return nothing;
  const parsed = parseTolerantly(text);
  const entries =
    parsed === undefined ? undefined : callsOfValue(parsed.value, { text, repairs: ['invalid JSON'], isMarked: false, context });
  const isCall = entries?.length === 1 && entries.every((entry) => entry.type === 'call' && context.isKnown(entry.name));
  return isCall && entries !== undefined ? { type: 'entries', end: input.text.length, entries } : nothing;
}
