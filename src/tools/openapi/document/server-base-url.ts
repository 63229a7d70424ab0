import { isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';
import type { DocumentPlace } from '../../definitions/opened-server.ts';
import { isSwagger } from './upgrade-swagger.ts';

/** Real ones are a few segments long; comparing longer ones takes the square of their number. */
const maxOverlap = 32;
/** Longer addresses no server takes. */
const urlCharacters = 2_048;

/**
 * Where the path of each operation begins. That is the registered URL followed by the path part of the document's own first server entry, what
 * overlaps written once (`http://host/api` and `/api/v1` give `http://host/api/v1`). The entry's host is ignored: it is often `localhost`, a
 * placeholder or an address of another network, and a document must not choose where credentials go. `basePath` of the connection replaces
 * the path of any server entry. Without either, a prefix that all paths of the document share is not repeated (`http://host/api/v1` and
 * `/api/v1/users`, `/api/v1/login` give `http://host`). Without a `/` at the end.
 * Servers that an operation or its path item names replace the document's, still on the registered origin. Retains no document.
 */
export function createBaseUrls(
  document: JsonObject,
  server: string | DocumentPlace,
  basePath: string | undefined,
): (operation: { serverPath?: string }) => string {
  const place = typeof server === 'string' ? undefined : server;
  const { origin, pathname } = new URL(typeof server === 'string' ? server : server.url);
  const literal = place === undefined || basePath !== undefined ? undefined : literalPath(document, place);
  if (literal !== undefined) {
    const base = [origin, ...segmentsOf(literal)].join('/');
    return ({ serverPath }) => (serverPath === undefined ? base : [origin, ...segmentsOf(serverPath)].join('/'));
  }
  const registered = segmentsOf(pathname);
  const added = segmentsOf(basePath === undefined ? documentPath(document) : pathOf(basePath));
  const below = (base: readonly string[], path: readonly string[]): string =>
    [origin, ...base, ...path.slice(longestOverlap(base, path))].join('/');
  const without = (end: number): string[] => registered.slice(0, registered.length - end);
  const documentBase =
    basePath === undefined && added.length === 0
      ? below(without(longestOverlap(registered, sharedStart(document))), [])
      : beginsWith(registered, added)
        ? [origin, ...added].join('/')
        : below(registered, added);
  const withoutDocumentPath = longestOverlap(registered, added) === added.length ? without(added.length) : registered;
  return ({ serverPath }) =>
    serverPath === undefined || basePath !== undefined ? documentBase : below(withoutDocumentPath, segmentsOf(serverPath));
}

/** For example, a server at `/shop` with its document at `/shop/docs/openapi.json`. */
function beginsWith(registered: readonly string[], added: readonly string[]): boolean {
  return added.length > 0 && registered.length > added.length && added.every((segment, index) => segment === registered[index]);
}

function longestOverlap(base: readonly string[], added: readonly string[]): number {
  for (let length = Math.min(base.length, added.length, maxOverlap); length > 0; length -= 1) {
    const end = base.slice(-length);
    if (end.every((segment, index) => segment === added[index])) return length;
  }
  return 0;
}

/** The segments that all paths begin with; of each path something is left, so that `/fetch` below `http://host/fetch` stays what it is. */
function sharedStart(document: JsonObject): readonly string[] {
  const paths = ownValue(document, 'paths');
  const [first, ...others] = isJsonObject(paths) ? Object.keys(paths).map((path) => path.slice(0, urlCharacters)) : [];
  if (first === undefined) return [];
  return others.reduce<readonly string[]>(
    (shared, path) => {
      const segments = segmentsOf(path).slice(0, -1);
      const end = shared.findIndex((segment, index) => segment !== segments[index]);
      return end === -1 ? shared : shared.slice(0, end);
    },
    segmentsOf(first).slice(0, -1),
  );
}

/**
 * The path of the document's server entry, relative to its own address (OpenAPI 3.1.1, section 4.6), where that is what counts: the address is all that is
 * known of the server, or the entry has steps that only mean something there.
 */
function literalPath(document: JsonObject, { address, isItself }: DocumentPlace): string | undefined {
  const stated = isSwagger(document) ? basePathIn(document) : serverUrlIn(document);
  const isFollowed = stated !== undefined && (isItself || /^\.{1,2}(?:\/|$)/.test(stated.trim()));
  return isFollowed ? pathOf(stated, address) : undefined;
}

function documentPath(document: JsonObject): string {
  const stated = isSwagger(document) ? basePathIn(document) : serverUrlIn(document);
  return stated === undefined ? '/' : pathOf(stated);
}

function basePathIn(document: JsonObject): string | undefined {
  const basePath = ownValue(document, 'basePath');
  return typeof basePath === 'string' ? basePath.slice(0, urlCharacters) : undefined;
}

/** The path of the first server entry of a document, a path item or an operation. */
export function serverPathIn(owner: JsonObject): string | undefined {
  const url = serverUrlIn(owner);
  return url === undefined ? undefined : pathOf(url);
}

/** The first server entry, its variables filled in. */
function serverUrlIn(owner: JsonObject): string | undefined {
  const servers = ownValue(owner, 'servers');
  const [first]: (JsonValue | undefined)[] = Array.isArray(servers) ? servers : [];
  const url = isJsonObject(first) ? ownValue(first, 'url') : undefined;
  if (!isJsonObject(first) || typeof url !== 'string') return undefined;
  return withVariables(url.slice(0, urlCharacters), ownValue(first, 'variables'));
}

/** `{name}` → the variable's default, else the first value it may have; a variable without either leaves nothing. */
function withVariables(url: string, variables: JsonValue | undefined): string {
  return url.replaceAll(/\{([^{}]*)\}/g, (_, name: string) => {
    const variable = isJsonObject(variables) ? ownValue(variables, name) : undefined;
    const choices = isJsonObject(variable) ? ownValue(variable, 'enum') : undefined;
    const value = isJsonObject(variable) ? (ownValue(variable, 'default') ?? (Array.isArray(choices) ? choices[0] : undefined)) : undefined;
    return typeof value === 'string' || typeof value === 'number' ? String(value).slice(0, urlCharacters) : '';
  });
}

/** The path of an absolute, scheme-relative or relative URL (to `base`), and of a host without a scheme (`localhost:3000/api`). */
function pathOf(url: string, base = 'http://host/'): string {
  const trimmed = url.trim();
  const withoutHost = /^(?:[^/?#]+:\d+|[^/?#]+\.[a-z]{2,})(?=\/|$)/i.exec(trimmed)?.[0];
  const isAbsolute = /^(?:[a-z][a-z0-9+.-]*:)?\/\//i.test(trimmed);
  const relative = isAbsolute || withoutHost === undefined ? trimmed : trimmed.slice(withoutHost.length);
  return URL.parse(relative || '/', base)?.pathname ?? '/';
}

function segmentsOf(path: string): string[] {
  return path.split('/').filter((segment) => segment !== '');
}
