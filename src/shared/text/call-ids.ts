import { hash, randomBytes } from 'node:crypto';

const letters = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';
/** Mistral takes ids of exactly this length, OpenAI at most 40 characters, Anthropic letters, digits, `_` and `-`. */
const idCharacters = 9;
/** Bytes from here on are skipped, or the first letters would be likelier. */
const evenBytes = 256 - (256 % letters.length);

/** An id for a call: nine random letters and digits, which every backend takes. */
export function makeCallId(): string {
  for (;;) {
    const id = toId(randomBytes(2 * idCharacters));
    if (id !== undefined) return id;
  }
}

/** The same, but it follows from a text. */
export function callIdFrom(text: string): string {
  for (let attempt = 0; ; attempt += 1) {
    const id = toId(hash('sha256', `${attempt} ${text}`, 'buffer'));
    if (id !== undefined) return id;
  }
}

function toId(bytes: Uint8Array): string | undefined {
  const even = bytes.filter((byte) => byte < evenBytes).subarray(0, idCharacters);
  return even.length < idCharacters ? undefined : Array.from(even, (byte) => letters.charAt(byte % letters.length)).join('');
}

/** What a server writes around the number of a call, besides the name of its function. */
const plainWords = /^(?:call|chatcmpl|fc|function|functions|func|id|tool|tools|toolu|use)$/iu;
/** Longer numbers are times or random. */
const countedDigits = 6;

/** Whether an id is a mere number with some words around it (`call_0`, `functions.search:0`): such a count begins anew in each answer. */
export function isCountedId(id: string, functionName: string): boolean {
  const parts = id.replace(functionName, '').match(/[a-z]+|\d+|[^a-z\d\s._:/#-]+/giu) ?? [];
  return parts.every((part) => (/^\d/u.test(part) ? part.length <= countedDigits : plainWords.test(part)));
}
