/** Normalizes a URI as servers do, so that spellings of the same resource are equal. */
export interface ComparableUri {
  /** Empty for a bare path. */
  scheme: string;
  /** Authority and path. */
  path: string;
  /** Parameters of the query. */
  query: ReadonlySet<string>;
}

/** Rounds of percent-decoding: each parser that a URI goes through may do one. */
const maxDecodings = 4;
const defaultPorts: Readonly<Record<string, string>> = { http: ':80', https: ':443', ws: ':80', wss: ':443' };
// eslint-disable-next-line no-control-regex -- parsers of URLs leave them out
const controlCharacters = /[\u0000-\u001f\u007f]/g;

/**
 * Leaves out what parsers, file systems and servers ignore: case, percent-encoding, dot segments, repeated slashes, backslashes, forms of Unicode, the
 * host of a `file:` URI, user names, default ports, and the fragment. In doubt two URIs are equal, because this decides what is blocked. Templates have a
 * comparable form too; their queries and fragments are left out.
 */
export function comparableUri(uri: string): ComparableUri {
  const text = uri
    .replaceAll(/\{[?&#][^{}]*\}/g, '')
    .replaceAll(controlCharacters, '')
    .trim();
  const [beforeFragment = ''] = text.split('#', 1);
  const [address = ''] = beforeFragment.split('?', 1);
  const query = beforeFragment.slice(address.length + 1);
  const [, scheme = '', rest = address] = /^([a-z][a-z0-9+.-]*):(.*)$/is.exec(address) ?? [];
  return {
    scheme: scheme.toLowerCase(),
    path: comparablePath(scheme.toLowerCase(), rest),
    query: new Set(Array.from(new URLSearchParams(query), ([name, value]) => folded(`${name}=${value}`))),
  };
}

/** As a text in which templates can be looked for. */
export function locationOf({ scheme, path }: ComparableUri): string {
  return scheme === '' ? path : `${scheme}:${path}`;
}

function comparablePath(scheme: string, rest: string): string {
  const segments: string[] = [];
  for (const segment of folded(decoded(withoutAuthorityDetails(scheme, rest.replaceAll('\\', '/')))).split(/[/\\]/)) {
    if (segment === '..') segments.pop();
    // Windows ignores dots and spaces at the end of a name.
    else if (segment !== '.' && segment !== '') segments.push(withoutTrailing(segment) || segment);
  }
  return segments.join('/');
}

/** A loop, because a pattern for the end begins anew at each of many dots that are followed by something else. */
function withoutTrailing(segment: string): string {
  let end = segment.length;
  while (end > 0 && (segment[end - 1] === '.' || segment[end - 1] === ' ')) end -= 1;
  return segment.slice(0, end);
}

function withoutAuthorityDetails(scheme: string, rest: string): string {
  const [whole, authority] = /^\/\/([^/]*)/.exec(rest) ?? [];
  if (whole === undefined || authority === undefined) return rest;
  if (scheme === 'file') return rest.slice(whole.length);
  const host = authority.slice(authority.lastIndexOf('@') + 1);
  const port = defaultPorts[scheme];
  return `${port !== undefined && host.endsWith(port) ? host.slice(0, -port.length) : host}${rest.slice(whole.length)}`;
}

function decoded(text: string): string {
  let current = text;
  for (let round = 0; round < maxDecodings; round += 1) {
    const next = current.replaceAll(/(?:%[0-9a-f]{2})+/gi, decodeWhereValid);
    if (next === current) break;
    current = next;
  }
  return current.replaceAll(controlCharacters, '');
}

function decodeWhereValid(encoded: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return encoded;
  }
}

function folded(text: string): string {
  return text.normalize('NFKC').toLowerCase();
}
