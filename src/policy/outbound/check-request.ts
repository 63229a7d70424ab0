import { OutboundError } from '../../core/errors.ts';

/** RFC 9110 section 5.6.2. */
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/u;
/** RFC 9110 section 5.5: no control character but the tab, and nothing that does not fit into one byte. */
const headerValue = /^[\t\u0020-\u007e\u0080-\u00ff]*$/u;

/** They belong to the connection (RFC 9110 section 7.6.1) or are computed from the request; set by a caller they split or misroute it. */
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

/** These change what a connection is, or send back what was sent. */
const refusedMethods = new Set(['CONNECT', 'TRACE', 'TRACK']);

/** `setTimeout` turns longer waits into one of a millisecond. */
const longestTimerMs = 2_147_483_647;

/**
 * Parses once; everything after uses the parsed form only, because two parsers that disagree are a way around every check.
 * @throws OutboundError `invalid_request`; the message never holds the URL, which may carry a secret.
 */
export function parseDestination(text: string): URL {
  const url = URL.parse(text);
  if (url === null) throw new OutboundError('invalid_request', 'The address is not a valid absolute URL.');
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new OutboundError('invalid_request', `Only http: and https: addresses can be called, not ${url.protocol}`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new OutboundError('invalid_request', `The address of ${url.host} holds a user name or password. Send them in a header instead.`);
  }
  return url;
}

/** @throws OutboundError `invalid_request` */
export function checkMethod(method: string): string {
  if (!token.test(method)) throw new OutboundError('invalid_request', 'The method is not a valid HTTP method.');
  if (refusedMethods.has(method.toUpperCase())) throw new OutboundError('invalid_request', `The method ${method} is not sent.`);
  return method;
}

/**
 * Names in lower case, each once. No compression is asked for unless the caller does: a small compressed body can hold a huge one.
 * @throws OutboundError `invalid_request` that names the header and never its value.
 */
export function checkHeaders(headers: Readonly<Record<string, string>>): Map<string, string> {
  const checked = new Map<string, string>();
  for (const [name, value] of Object.entries(headers)) {
    const lowerName = name.toLowerCase();
    if (!token.test(name)) throw new OutboundError('invalid_request', 'A header has a name that HTTP does not allow.');
    if (reservedHeaders.has(lowerName)) throw new OutboundError('invalid_request', `The header ${lowerName} cannot be set.`);
    if (checked.has(lowerName)) throw new OutboundError('invalid_request', `The header ${lowerName} is given twice.`);
    if (!headerValue.test(value)) {
      throw new OutboundError('invalid_request', `The header ${lowerName} holds a line break, a control character or one outside Latin-1.`);
    }
    checked.set(lowerName, value);
  }
  if (!checked.has('accept-encoding')) checked.set('accept-encoding', 'identity');
  return checked;
}

/** A limit that a timer can keep. @throws RangeError for "no limit", which is a mistake of the caller and not of a request. */
export function checkTimeLimit(limitMs: number): number {
  if (!(limitMs > 0) || !Number.isFinite(limitMs))
    throw new RangeError(`A time limit must be a positive number of milliseconds, not ${limitMs}.`);
  return Math.min(limitMs, longestTimerMs);
}
