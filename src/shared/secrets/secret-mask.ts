import { isContainer, type JsonObject, type JsonValue } from '../json/json.ts';

const hidden = '[secret]';

/** Characters; shorter values may occur in a text by chance. */
const shortestSecret = 6;
/** The same for a part of a credential. */
const shortestPart = 8;

/**
 * Redacts credentials that were sent to a server in its answers. Apply it where foreign data comes in, so that answers, runs, logs, models and
 * stores never see them.
 */
export interface SecretMask {
  /** What it was created of, so that another thread can create it too. */
  secrets: readonly Secret[];
  /** True if there are no credentials to redact. */
  isEmpty: boolean;
  text: (text: string) => string;
  /** Returns the same value if nothing was redacted. Numbers are ignored. The recursion is bounded by the parser's depth limit. */
  value: <Value extends JsonValue>(value: Value) => Value;
  /** Keeps the length, because file formats depend on it; returns the same bytes if nothing was redacted. */
  bytes: (bytes: Uint8Array) => Uint8Array;
  /** Also within the base64 of a `data:` URL. */
  dataUrl: (url: string) => string;
}

/**
 * A credential as it was sent: a key, the value of a header with or without its scheme, `user:password`; or a pattern with the flag `g`. `whole`: a text
 * whose words may be anything, so that none of them is redacted by itself.
 */
export type Secret = string | RegExp | { readonly whole: string };

/** Short texts are ignored. */
export function createSecretMask(secrets: readonly Secret[]): SecretMask {
  const patterns = secrets.filter((secret) => secret instanceof RegExp);
  const wholes = secrets.flatMap((secret) => (typeof secret === 'object' && 'whole' in secret ? [secret.whole] : []));
  const forms = formsOf(
    secrets.filter((secret) => typeof secret === 'string'),
    wholes,
  );
  const isEmpty = forms.length === 0 && patterns.length === 0;
  const inBytes = forms.map((form) => Buffer.from(form));
  const shortest = Math.min(...forms.map(({ length }) => length));
  const text = (given: string): string => {
    // Most strings of a large result are too short to contain a credential.
    const rest =
      given.length < shortest ? given : forms.reduce((rest, form) => (rest.includes(form) ? rest.replaceAll(form, hidden) : rest), given);
    return patterns.reduce((rest, pattern) => rest.replaceAll(pattern, hidden), rest);
  };
  const bytes = (given: Uint8Array): Uint8Array =>
    maskBytes(given, [...inBytes, ...patterns.flatMap((pattern) => matchesIn(given, pattern))]);
  return {
    secrets,
    isEmpty,
    text,
    value: (value) => (isEmpty ? value : (maskValue(value, text, new Map()) as typeof value)),
    bytes,
    dataUrl(url) {
      const [head = '', data] = url.split(';base64,', 2);
      if (isEmpty || data === undefined) return text(url);
      const decoded = Buffer.from(data, 'base64');
      const masked = bytes(decoded);
      return masked === decoded ? url : `${text(head)};base64,${Buffer.from(masked).toString('base64')}`;
    },
  };
}

/**
 * The forms in which a server may repeat a credential: unchanged, without its scheme or name, encoded as in a URL or form, escaped as in JSON or
 * HTML, in base64 alone or among other bytes, and for Basic authentication the pair and the password. Longest first, because otherwise replacing a
 * part would leave the rest.
 */
function formsOf(secrets: readonly string[], wholes: readonly string[]): string[] {
  const whole = secrets.flatMap((secret) => [secret, ...pairIn(secret)]).filter((form) => form.length >= shortestSecret);
  const parts = secrets.flatMap((secret) => secret.split(/[ =]/));
  const passwords = [...secrets, ...whole].flatMap((secret) => (secret.includes(':') ? [secret.slice(secret.indexOf(':') + 1)] : []));
  const known = [...whole, ...wholes, ...[...parts, ...passwords].filter((form) => form.length >= shortestPart)];
  const written = known.flatMap((form) => [form, ...inAddress(form), ...inJson(form), inHtml(form), ...inBase64(form)]);
  return [...new Set(written)].toSorted((a, b) => b.length - a.length);
}

/** `user:password` of Basic authentication (RFC 7617). */
function pairIn(secret: string): string[] {
  const encoded = /^basic ([\w+/=-]+)$/i.exec(secret)?.[1];
  return encoded === undefined ? [] : [Buffer.from(encoded, 'base64').toString('utf8')];
}

/** Percent-encoded as a URL component, as a URL, and as a form field; with upper and lower case digits. */
function inAddress(form: string): string[] {
  const whole = form.toWellFormed();
  const field = new URLSearchParams([['', whole]]).toString().slice(1);
  const written = [encodeURIComponent(whole), encodeURI(whole), field];
  return written.flatMap((text) => [text, text.replaceAll(/%[\dA-F]{2}/g, (code) => code.toLowerCase())]);
}

/** JSON-escaped. PHP and others also write `/` as `\/`. */
function inJson(form: string): string[] {
  const escaped = JSON.stringify(form).slice(1, -1);
  return [escaped, escaped.replaceAll('/', String.raw`\/`)];
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

function inHtml(form: string): string {
  return form.replaceAll(/[&<>"']/g, (character) => entities[character] ?? character);
}

/** Encoded alone, without the padding; and among other bytes, without the first and last letter, which depend on the neighbours. */
function inBase64(form: string): string[] {
  const bytes = Buffer.from(form);
  const among = [0, 1, 2].map((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    return encoded.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
  });
  const written = [bytes.toString('base64').replace(/=+$/, ''), ...among];
  return written.flatMap((text) => [text, text.replaceAll('+', '-').replaceAll('/', '_')]);
}

function matchesIn(given: Uint8Array, pattern: RegExp): Buffer[] {
  const text = Buffer.from(given.buffer, given.byteOffset, given.byteLength).toString('latin1');
  return [...text.matchAll(pattern)].map(([match]) => Buffer.from(match, 'latin1'));
}

function maskBytes(given: Uint8Array, forms: readonly Buffer[]): Uint8Array {
  const view = Buffer.from(given.buffer, given.byteOffset, given.byteLength);
  let masked: Buffer | undefined;
  for (const form of forms) {
    for (let at = (masked ?? view).indexOf(form); at !== -1; at = (masked ?? view).indexOf(form, at + form.length)) {
      masked ??= Buffer.from(view);
      masked.fill('*', at, at + form.length);
    }
  }
  return masked ?? given;
}

/** `known`: a document may contain the same object many times. */
function maskValue(value: JsonValue, mask: (text: string) => string, known: Map<object, JsonValue>): JsonValue {
  if (typeof value === 'string') return mask(value);
  if (!isContainer(value)) return value;
  const before = known.get(value);
  if (before !== undefined) return before;
  const masked = Array.isArray(value) ? maskList(value, mask, known) : maskObject(value, mask, known);
  known.set(value, masked);
  return masked;
}

function maskList(value: JsonValue[], mask: (text: string) => string, known: Map<object, JsonValue>): JsonValue[] {
  const entries = value.map((entry) => maskValue(entry, mask, known));
  return entries.every((entry, position) => entry === value[position]) ? value : entries;
}

function maskObject(value: JsonObject, mask: (text: string) => string, known: Map<object, JsonValue>): JsonValue {
  const before = Object.entries(value);
  const after = before.map(([name, child]) => [mask(name), child === undefined ? child : maskValue(child, mask, known)] as const);
  const isSame = after.every(([name, child], position) => name === before[position]?.[0] && child === before[position]?.[1]);
  return isSame ? value : Object.fromEntries(after);
}
