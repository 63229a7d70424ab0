import { setImmediate as nextTurn } from 'node:timers/promises';
import { GatewayError, OutboundError } from '../core/errors.ts';
import { isSecretField } from '../shared/secrets/secret-names.ts';
import { withoutExcerpt } from '../shared/json/without-excerpt.ts';
import { withSourcePositions } from './source-positions.ts';
import { ExactNumber } from '../shared/json/exact-number.ts';

/** Replaces a secret in the log. */
export const redacted = '[redacted]';

/** Further hidden fields: URLs that may contain a password, raw headers, and bodies, which may contain anything. */
const hiddenInLogs = /^(?:database_?url|redis_?url|raw_?headers|body)$/i;

/** Nesting of logged values, which bounds the recursion. */
const maxDepth = 6;
/** Entries of a logged array or object. */
const maxEntries = 100;

/** A copy for the log: values under secret names are redacted at every level, errors are described, and other objects (sockets, streams) are only named. */
export function withoutSecrets(value: unknown, depth = 0): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Error) return describeError(value);
  if (value instanceof Date) return value;
  if (value instanceof ExactNumber) return value.source;
  if (depth >= maxDepth) return '[deeper]';
  if (Array.isArray(value)) return value.slice(0, maxEntries).map((entry) => withoutSecrets(entry, depth + 1));
  if (!isPlainObject(value)) return `[${value.constructor.name}]`;
  const entries = Object.entries(value).slice(0, maxEntries);
  return Object.fromEntries(entries.map(([key, child]) => [key, isHiddenField(key, child) ? redacted : withoutSecrets(child, depth + 1)]));
}

function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

/** Whether the log redacts a field of this name. Undefined fields are left out, not redacted. */
export function isHiddenField(name: string, value: unknown): boolean {
  return value !== undefined && (isSecretField(name, value) || hiddenInLogs.test(name));
}

/** Levels of `cause` that are logged: enough to name the reason, and an end to cycles. */
const maxCauses = 3;
/** An upstream's message may be a whole page. */
const maxMessageLength = 2_000;
const maxStackLength = 8_000;

/** Only known fields, because libraries attach response bodies and request options to errors. */
export function describeError(error: unknown, causes = 0, hasStack = isInternal(error)): unknown {
  if (!(error instanceof Error)) return { type: typeof error, message: typeof error === 'string' ? error : 'not an error' };
  const { code, status, failure } = error as Error & { code?: unknown; status?: unknown; failure?: unknown };
  return {
    type: error.name,
    message: withoutExcerpt(error.message.slice(0, maxMessageLength)),
    ...(isPlain(code) && { code }),
    ...(isPlain(status) && { status }),
    ...(isPlain(failure) && { failure }),
    ...(hasStack && { stack: error.stack && withoutExcerpt(withSourcePositions(error.stack.slice(0, maxStackLength))) }),
    ...(error.cause instanceof Error && causes < maxCauses && { cause: describeError(error.cause, causes + 1, hasStack) }),
  };
}

/** Errors caused by peers, disks or callers are described by their messages; a stack helps only with bugs of the gateway. */
function isInternal(error: unknown): boolean {
  if (error instanceof OutboundError) return false;
  return !(error instanceof GatewayError) || error.code === 'internal_error';
}

function isPlain(value: unknown): value is string | number {
  return typeof value === 'string' || typeof value === 'number';
}

const secretName = '(?:proxy-)?authorization|(?:set-)?cookie|(?:x-)?api[-_]?key|keys?|(?:[a-z]{1,20}[-_]?)?(?:token|secret|password)';

/**
 * For secrets without a field name: in messages, stacks, and text that contains JSON. Each match stays within one JSON string. No character is read
 * more than a few times, because texts may be long and hostile: a pattern begins only where none of its own characters stands before, or it takes
 * all that it has read.
 */
const patterns: readonly [RegExp, string][] = [
  [/\b(Bearer|Basic)\s{1,4}(?!authentication\b)[^\s"'\\,;]{6,}/gi, `$1 ${redacted}`],
  [/\b(sk|pk|rk)-[A-Za-z0-9_-]{6,}/g, `$1-${redacted}`],
  [/(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,4096}\.[A-Za-z0-9_.-]+/g, redacted],
  // A field of JSON within a string.
  [new RegExp(String.raw`(\\{1,4}"(?:${secretName})\\{1,4}"\s{0,4}:\s{0,4}\\{1,4}")[^"\\]+`, 'gi'), `$1${redacted}`],
];

/** A URL up to its end, and what of it is hidden: user information, also of a URL within it, and the query. */
const url = /\b[a-z][a-z0-9+.-]{0,20}:\/\/[^\s"'\\]*/gi;
const userInformation = /(:\/\/)[^/@]{1,512}@/g;
const query = /^([^?#]*)\?.*$/;
/** Not a secret: the query with which a module of `tools_dir` is reloaded, which goes, so that stacks keep their line numbers. */
const reload = /^(file:\/\/[^?#]+)\?toolwharf-load=\d{1,9}(?=[:)]|$)/i;

function maskUrl(text: string): string {
  if (!text.includes('?') && !text.includes('@')) return text;
  const loaded = reload.test(text) ? text.replace(reload, '$1') : text.replace(query, `$1?${redacted}`);
  return loaded.replaceAll(userInformation, `$1${redacted}@`);
}

/** A quick check: every pattern requires one of these, and most lines have none. */
const mark = /bearer|basic|[spr]k-|eyJ|:\/\/|\\"/i;

/** The finished line with everything that looks like a secret replaced; it stays valid JSON. */
export function maskSecrets(line: string): string {
  if (!mark.test(line)) return line;
  return patterns.reduce((text, [pattern, replacement]) => text.replaceAll(pattern, replacement), line.replaceAll(url, maskUrl));
}

/** Characters that are masked in one turn of the event loop: a few milliseconds, if they are hostile. */
const maskedPerTurn = 25_000;

/** The same for a text that may be long. */
export async function maskSecretsOfLong(text: string): Promise<string> {
  let masked = '';
  for (let start = 0; start < text.length;) {
    const end = endOfPiece(text, start);
    masked += maskSecrets(text.slice(start, end));
    start = end;
    if (start < text.length) await nextTurn();
  }
  return masked;
}

/** What ends before a space that may belong to a secret: `Bearer <secret>`, `"token": "<secret>"`. */
const beforeSecret = /(?:bearer|basic|[:"\\])\s{0,4}$/i;

const triedSpaces = 100;

/** The end of a piece that does not cut a secret in two: before a space, where there is one. */
function endOfPiece(text: string, start: number): number {
  const latest = start + maskedPerTurn;
  if (latest >= text.length) return text.length;
  let at = latest;
  for (let tries = 0; tries < triedSpaces; tries += 1) {
    at = text.lastIndexOf(' ', at - 1);
    if (at <= start) return latest;
    if (!beforeSecret.test(text.slice(Math.max(start, at - 12), at))) return at;
  }
  return latest;
}
