import { OutboundError } from '../../core/errors.ts';
import { longestTimerMs } from '../../shared/async/timer-limits.ts';
import { headerName } from '../../shared/text/header-name.ts';

/** RFC 9110 section 5.5: no control character but the tab, and nothing that does not fit into one byte. */
const headerValue = /^[\t\u0020-\u007e\u0080-\u00ff]*$/u;

/** Headers of the connection (RFC 9110 section 7.6.1) or computed from the request; set by a caller they could split or misroute it. */
const reservedHeaders = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Methods that turn the connection into a tunnel, or make the server echo the request. */
const refusedMethods = new Set(['CONNECT', 'TRACE', 'TRACK']);

/**
 * Parses the URL once. Everything after uses only the parsed form, because two parsers that disagree would allow bypassing the checks.
 * @throws OutboundError `invalid_request`; the message never contains the URL, which may contain a secret.
 */
export function parseDestination(text: string): URL {
  const url = URL.parse(text);
  if (url === null) throw new OutboundError('invalid_request', 'The URL is not a valid absolute URL.');
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new OutboundError('invalid_request', `Only http: and https: URLs can be called, not ${url.protocol}`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new OutboundError('invalid_request', `The URL of ${url.host} contains a user name or password. Send them in a header instead.`);
  }
  return url;
}

/** @throws OutboundError `invalid_request` */
export function checkMethod(method: string): string {
  if (!headerName.test(method)) throw new OutboundError('invalid_request', 'The method is not a valid HTTP method.');
  if (refusedMethods.has(method.toUpperCase())) throw new OutboundError('invalid_request', `The method ${method} is not allowed.`);
  return method;
}

/**
 * Names in lower case, without duplicates. Requests no compression unless the caller does: a small compressed body can expand to a huge one.
 * @throws OutboundError `invalid_request` that names the header and never its value.
 */
export function checkHeaders(headers: Readonly<Record<string, string>>): Map<string, string> {
  const checked = new Map<string, string>();
  for (const [name, value] of Object.entries(headers)) {
    const lowerName = name.toLowerCase();
    if (!headerName.test(name)) throw new OutboundError('invalid_request', 'A header has a name that HTTP does not allow.');
    if (reservedHeaders.has(lowerName)) throw new OutboundError('invalid_request', `The header ${lowerName} cannot be set.`);
    if (checked.has(lowerName)) throw new OutboundError('invalid_request', `The header ${lowerName} is set twice.`);
    if (!headerValue.test(value)) {
      throw new OutboundError(
        'invalid_request',
        `The header ${lowerName} contains a line break, a control character, or a character outside Latin-1.`,
      );
    }
    checked.set(lowerName, value);
  }
  if (!checked.has('accept-encoding')) checked.set('accept-encoding', 'identity');
  return checked;
}

/** Headers in the form in which they are sent. */
export interface CheckedHeaders {
  /** Names and values in turn. */
  flat: string[];
  isConditional: boolean;
  /** Whether it has a `traceparent` of its own. */
  isTraced: boolean;
  /** Whether the answer must not be compressed. */
  wantsIdentity: boolean;
}

/** By frozen headers, which a backend uses for all its requests. */
const checkedBefore = new WeakMap<object, CheckedHeaders>();

/** @throws OutboundError as `checkHeaders` */
export function prepareHeaders(headers: Readonly<Record<string, string>>): CheckedHeaders {
  const known = checkedBefore.get(headers);
  if (known !== undefined) return known;
  const checked = checkHeaders(headers);
  const prepared = {
    flat: [...checked].flat(),
    isConditional: checked.has('if-none-match') || checked.has('if-modified-since'),
    isTraced: checked.has('traceparent'),
    wantsIdentity: checked.get('accept-encoding') === 'identity',
  };
  if (Object.isFrozen(headers)) checkedBefore.set(headers, prepared);
  return prepared;
}

/** Limits a time limit to what a timer supports. @throws RangeError for an infinite or invalid limit, which is a bug of the calling code. */
export function checkTimeLimit(limitMs: number): number {
  if (!(limitMs > 0) || !Number.isFinite(limitMs))
    throw new RangeError(`A time limit must be a positive number of milliseconds, not ${limitMs}.`);
  return Math.min(limitMs, longestTimerMs);
}
