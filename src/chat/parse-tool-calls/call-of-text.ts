import type { ReadEntry } from './call-pieces.ts';
import { isNameCode } from './growing-text.ts';
import { plainName } from './plain-name.ts';
import { parsePythonArguments } from './python-literal.ts';

const maxName = 256;
const markdownEscape = /\\([_*[\]])/g;

/** The one call that `text` consists of; damaged when it is something else. */
export function callOfText(text: string): ReadEntry {
  const nameEnd = callNameEnd(text);
  const isNamed = nameEnd > 0 && nameEnd <= maxName && text.charCodeAt(nameEnd) === 40; /* ( */
  if (!isNamed) return { type: 'damaged', reason: 'malformed', text };
  const written = text.slice(0, nameEnd);
  const name = calledName(written);
  const args = text.endsWith(')') ? argumentsOf(text.slice(nameEnd + 1, -1), written) : undefined;
  return args === undefined
    ? { type: 'damaged', reason: 'malformed', name, text }
    : { type: 'call', name, arguments: args, text, repairs: [] };
}

/** Who escapes a name as Markdown does escapes everything. */
function argumentsOf(inside: string, name: string): ReturnType<typeof parsePythonArguments> {
  if (!inside.includes('\\')) return parsePythonArguments(inside);
  const plain = inside.replaceAll(markdownEscape, '$1');
  if (name.includes('\\')) return parsePythonArguments(plain);
  return parsePythonArguments(inside) ?? (plain === inside ? undefined : parsePythonArguments(plain));
}

function callNameEnd(text: string): number {
  let end = 0;
  for (;;) {
    if (isNameCode(text.charCodeAt(end))) end += 1;
    else if (text.charCodeAt(end) === 92 && text.charCodeAt(end + 1) === 95) end += 2;
    else return end;
  }
}

/** A name before a bracket. */
export function calledName(written: string): string {
  const name = plainName(written);
  return name.endsWith('.call') ? name.slice(0, -'.call'.length) : name;
}

/** What the commas outside all brackets and strings part, from `begin` to `end` of the text. */
export function membersOf(text: string, begin: number, end: number): string[] {
  const members: string[] = [];
  let depth = 0;
  let start = begin;
  for (let at = begin; at < end; at += 1) {
    const code = text.charCodeAt(at);
    // Digits, capitals and the signs between them, none of which parts anything.
    if (code > 44 && code < 91) continue;
    if (code === 34 || code === 39) at = stringEnd(text, at);
    else if (code === 44 && depth === 0) {
      members.push(text.slice(start, at));
      start = at + 1;
    } else if (code === 40 || code === 91 || code === 123) depth += 1;
    else if (code === 41 || code === 93 || code === 125) depth -= 1;
  }
  members.push(text.slice(start, end));
  return members;
}

/** Position of the closing quote, or the end of the text. */
function stringEnd(text: string, start: number): number {
  const quote = text.charAt(start);
  for (let at = text.indexOf(quote, start + 1); at !== -1; at = text.indexOf(quote, at + 1)) {
    let escapes = at;
    while (text.charCodeAt(escapes - 1) === 92 && escapes - 1 > start) escapes -= 1;
    if ((at - escapes) % 2 === 0) return at;
  }
  return text.length;
}
