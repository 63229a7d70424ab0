import type { ReadEntry } from './call-pieces.ts';
import { plainName } from './plain-name.ts';
import { parsePythonArguments } from './python-literal.ts';

const callForm = /^((?:[\p{L}\p{N}_./-]|\\_){1,256})\((.*)\)$/su;
const visibleName = /^((?:[\p{L}\p{N}_./-]|\\_){1,256})\(/u;

/** The one call that `text` consists of; damaged when it is something else. */
export function callOfText(text: string): ReadEntry {
  const [, written, inside] = callForm.exec(text) ?? [];
  if (written === undefined || inside === undefined) {
    const begun = visibleName.exec(text)?.[1];
    return { type: 'damaged', reason: 'malformed', ...(begun === undefined ? {} : { name: calledName(begun) }), text };
  }
  const name = calledName(written);
  const plain = inside.replaceAll(/\\([_*[\]])/g, '$1');
  // Who escapes a name as Markdown does escapes everything.
  const args =
    parsePythonArguments(written.includes('\\') ? plain : inside) ?? (plain === inside ? undefined : parsePythonArguments(plain));
  return args === undefined
    ? { type: 'damaged', reason: 'malformed', name, text }
    : { type: 'call', name, arguments: args, text, repairs: [] };
}

/** A name before a bracket. */
export function calledName(written: string): string {
  return plainName(written).replace(/\.call$/, '');
}

/** What the commas outside all brackets and strings part. */
export function membersOf(text: string): string[] {
  const members: string[] = [];
  let depth = 0;
  let start = 0;
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charAt(at);
    if (character === '"' || character === "'") at = stringEnd(text, at);
    else if ('([{'.includes(character)) depth += 1;
    else if (')]}'.includes(character)) depth -= 1;
    else if (character === ',' && depth === 0) {
      members.push(text.slice(start, at));
      start = at + 1;
    }
  }
  return [...members, text.slice(start)];
}

/** Position of the closing quote, or the end of the text. */
function stringEnd(text: string, start: number): number {
  const quote = text[start];
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] === quote) return at;
    if (text[at] === '\\') at += 1;
  }
  return text.length;
}
