import { isJsonObject } from '../core/json.ts';
import type { JsonValue } from '../core/json.ts';

const hidden = '[secret]';

/** Shorter values are words that a text may hold by chance. */
const shortestSecret = 8;

/** A text, or a pattern with the flag `g`. */
export type Secret = string | RegExp;

/** JSON Web Tokens with the head of the gateway's own (`{"alg":"EdDSA",`), whoever they were issued for. */
const sessionToken = /eyJhbGciOiJFZERTQSIs[\w-]*\.[\w-]+\.[\w-]+/g;

/** What a server may not repeat because its requests carry session tokens. */
export function sessionSecrets(hasSession: boolean): Secret[] {
  return hasSession ? [sessionToken] : [];
}

/** The forms in which a server may repeat what it was sent: whole, without its scheme or name, as in an address, and the password of Basic. */
export function formsOfSecrets(values: readonly string[]): string[] {
  const forms = values.flatMap((value) => [
    value,
    encodeURIComponent(value.toWellFormed()),
    ...value.split(/[ =]/),
    passwordIn(value) ?? '',
  ]);
  // The longest first, or a part of it would be replaced and leave the rest.
  return [...new Set(forms)].filter((form) => form.length >= shortestSecret).toSorted((a, b) => b.length - a.length);
}

function passwordIn(value: string): string | undefined {
  const encoded = /^basic ([\w+/=-]+)$/i.exec(value)?.[1];
  if (encoded === undefined) return undefined;
  const pair = Buffer.from(encoded, 'base64').toString('utf8');
  return pair.slice(pair.indexOf(':') + 1);
}

export function hideInText(text: string, secrets: readonly Secret[]): string {
  return secrets.reduce((rest: string, secret) => rest.replaceAll(secret, hidden), text);
}

/** The same value where nothing had to be hidden. Recursion ends with the value's own depth, which whoever parsed it has bounded. */
export function hideInValue(value: JsonValue, secrets: readonly Secret[]): JsonValue {
  if (secrets.length === 0) return value;
  if (typeof value === 'string') return hideInText(value, secrets);
  if (Array.isArray(value)) {
    const entries = value.map((entry) => hideInValue(entry, secrets));
    return entries.every((entry, position) => entry === value[position]) ? value : entries;
  }
  if (!isJsonObject(value)) return value;
  const before = Object.entries(value);
  const after = before.map(
    ([name, child]) => [hideInText(name, secrets), child === undefined ? child : hideInValue(child, secrets)] as const,
  );
  const isSame = after.every(([name, child], position) => name === before[position]?.[0] && child === before[position]?.[1]);
  return isSame ? value : Object.fromEntries(after);
}
