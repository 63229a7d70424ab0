import { GatewayError, OutboundError } from '../core/errors.ts';
import { isSecretField } from '../shared/secrets/secret-names.ts';
import { withoutExcerpt } from '../shared/without-excerpt.ts';

/** What is shown instead of a secret. */
export const redacted = '[redacted]';

/** Not by their names credentials: addresses that may hold a password, raw headers, and bodies, which may hold anything. */
const hiddenInLogs = /^(?:database_?url|redis_?url|raw_?headers|body)$/i;

/** Deeper facts have no place in a log, and recursion has to end. */
const maxDepth = 6;
/** Longer lists are cut; a log line is not a dump. */
const maxEntries = 100;

/** A copy for the log: values under secret names are gone at every level, errors are described, and live objects (sockets, streams) are named only. */
export function withoutSecrets(value: unknown, depth = 0): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Error) return describeError(value);
  if (value instanceof Date) return value;
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

/** Whether the log hides the value of this name. A field without a value is left out, not hidden. */
export function isHiddenField(name: string, value: unknown): boolean {
  return value !== undefined && (isSecretField(name, value) || hiddenInLogs.test(name));
}

/** Causes of causes: three levels name the reason, and a cycle ends. */
const maxCauses = 3;
/** An upstream's message may be a whole page. */
const maxMessageLength = 2_000;
const maxStackLength = 8_000;

/** Known fields only: an upstream's body or a request's options may hang on an error under any name. */
export function describeError(error: unknown, causes = 0, isOwnFault = isFaultOfOurs(error)): unknown {
  if (!(error instanceof Error)) return { type: typeof error, message: typeof error === 'string' ? error : 'not an error' };
  const { code, status, failure } = error as Error & { code?: unknown; status?: unknown; failure?: unknown };
  return {
    type: error.name,
    message: withoutExcerpt(error.message.slice(0, maxMessageLength)),
    ...(isPlain(code) && { code }),
    ...(isPlain(status) && { status }),
    ...(isPlain(failure) && { failure }),
    ...(isOwnFault && { stack: error.stack && withoutExcerpt(error.stack.slice(0, maxStackLength)) }),
    ...(error.cause instanceof Error && causes < maxCauses && { cause: describeError(error.cause, causes + 1, isOwnFault) }),
  };
}

/** What a peer, a disk or a caller did wrong is described by its message: no line of our code is at fault, so there is no stack. */
function isFaultOfOurs(error: unknown): boolean {
  if (error instanceof OutboundError) return false;
  return !(error instanceof GatewayError) || error.code === 'internal_error';
}

function isPlain(value: unknown): value is string | number {
  return typeof value === 'string' || typeof value === 'number';
}

const secretName = '(?:proxy-)?authorization|(?:set-)?cookie|(?:x-)?api[-_]?key|keys?|(?:[a-z]{1,20}[-_]?)?(?:token|secret|password)';

/**
 * Where a name does not help: messages, stacks, and text that holds JSON. Each stays within one JSON string, and every repetition is bounded,
 * because a hostile message must not make the log slow.
 */
const patterns: readonly [RegExp, string][] = [
  [/\b(Bearer|Basic)\s{1,4}(?!authentication\b)[^\s"'\\,;]{6,}/gi, `$1 ${redacted}`],
  [/\b(sk|pk|rk)-[A-Za-z0-9_-]{6,}/g, `$1-${redacted}`],
  [/\beyJ[A-Za-z0-9_-]{8,4096}\.[A-Za-z0-9_.-]+/g, redacted],
  // No secret: how a module of `tools_dir` is loaded anew. Without it the stack names the line.
  [/(file:\/\/[^\s"'\\?#]{1,2048})\?toolwharf-load=\d{1,9}(?=[:)\s"'\\])/g, '$1'],
  // User information and the query of an address.
  [/\b([a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/"'\\@]{1,512}@/gi, `$1${redacted}@`],
  [/\b([a-z][a-z0-9+.-]{0,20}:\/\/[^\s"'\\?#]{0,2048})\?[^\s"'\\]*/gi, `$1?${redacted}`],
  // A field of JSON that stands within a string.
  [new RegExp(String.raw`(\\{1,4}"(?:${secretName})\\{1,4}"\s{0,4}:\s{0,4}\\{1,4}")[^"\\]+`, 'gi'), `$1${redacted}`],
];

/** Every pattern needs one of these: most lines hold none and are done after one look. */
const mark = /bearer|basic|[spr]k-|eyJ|:\/\/|\\"/i;

/** The finished line with everything that looks like a secret replaced; it stays valid JSON. */
export function maskSecrets(line: string): string {
  if (!mark.test(line)) return line;
  return patterns.reduce((text, [pattern, replacement]) => text.replaceAll(pattern, replacement), line);
}
