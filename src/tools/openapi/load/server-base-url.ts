import { isJsonObject, ownValue } from '../../../shared/json.ts';
import type { JsonObject, JsonValue } from '../../../shared/json.ts';
import { isSwagger } from './upgrade-swagger.ts';

/** Real ones are a few segments long; comparing longer ones takes the square of their number. */
const maxOverlap = 32;
/** Longer addresses no server takes. */
const urlCharacters = 2_048;

/**
 * Where the paths of a document begin: the registered URL followed by the path part of the document's own first server entry, what overlaps written
 * once (`http://host/api` and `/api/v1` give `http://host/api/v1`). The entry's host is ignored: it is often `localhost`, a placeholder or an
 * address of another network, and a document must not choose where credentials go. `basePath` takes the place of the entry. Without either, what all
 * paths of the document begin with is not written twice (`http://host/api/v1` and `/api/v1/users`, `/api/v1/login` give `http://host`). Without a
 * `/` at the end.
 */
export function serverBaseUrl(document: JsonObject, registeredUrl: string, basePath: string | undefined): string {
  const { origin, pathname } = new URL(registeredUrl);
  const own = segmentsOf(pathname);
  const added = segmentsOf(basePath === undefined ? documentPath(document) : pathOf(basePath));
  if (basePath === undefined && added.length === 0)
    return [origin, ...own.slice(0, own.length - longestOverlap(own, sharedStart(document)))].join('/');
  const overlap = longestOverlap(own, added);
  return [origin, ...own, ...added.slice(overlap)].join('/');
}

/**
 * Where the path of each operation begins: as `serverBaseUrl`, unless the operation or its path item names servers of its own. Their path then
 * takes the place of the document's, on the registered origin all the same. A `basePath` of the connection stands above both. Keeps no document.
 */
export function createBaseUrls(
  document: JsonObject,
  registeredUrl: string,
  basePath: string | undefined,
): (operation: { serverPath?: string }) => string {
  const ofDocument = segmentsOf(documentPath(document));
  const documentBase = serverBaseUrl(document, registeredUrl, basePath);
  const { origin, pathname } = new URL(registeredUrl);
  const own = segmentsOf(pathname);
  const isWritten = ofDocument.length > 0 && longestOverlap(own, ofDocument) === ofDocument.length;
  const kept = isWritten ? own.slice(0, -ofDocument.length) : own;
  return ({ serverPath }) => {
    if (serverPath === undefined || basePath !== undefined) return documentBase;
    const added = segmentsOf(serverPath);
    return [origin, ...kept, ...added.slice(longestOverlap(kept, added))].join('/');
  };
}

function longestOverlap(own: readonly string[], added: readonly string[]): number {
  for (let length = Math.min(own.length, added.length, maxOverlap); length > 0; length -= 1) {
    const end = own.slice(-length);
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

function documentPath(document: JsonObject): string {
  if (!isSwagger(document)) return serverPathIn(document) ?? '/';
  const basePath = ownValue(document, 'basePath');
  return typeof basePath === 'string' ? pathOf(basePath.slice(0, urlCharacters)) : '/';
}

/** The path of the first server entry of a document, a path item or an operation, its variables filled in. */
export function serverPathIn(owner: JsonObject): string | undefined {
  const servers = ownValue(owner, 'servers');
  const [first]: (JsonValue | undefined)[] = Array.isArray(servers) ? servers : [];
  const url = isJsonObject(first) ? ownValue(first, 'url') : undefined;
  if (!isJsonObject(first) || typeof url !== 'string') return undefined;
  return pathOf(withVariables(url.slice(0, urlCharacters), ownValue(first, 'variables')));
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

/** The path of an absolute, scheme-relative or relative URL, and of a host without a scheme (`localhost:3000/api`). */
function pathOf(url: string): string {
  const trimmed = url.trim();
  const withoutHost = /^(?:[^/?#]+:\d+|[^/?#]+\.[a-z]{2,})(?=\/|$)/i.exec(trimmed)?.[0];
  const isAbsolute = /^(?:[a-z][a-z0-9+.-]*:)?\/\//i.test(trimmed);
  const relative = isAbsolute || withoutHost === undefined ? trimmed : trimmed.slice(withoutHost.length);
  return URL.parse(relative, 'http://host/')?.pathname ?? '/';
}

function segmentsOf(path: string): string[] {
  return path.split('/').filter((segment) => segment !== '');
}
