import { isJsonObject, ownValue } from '../../core/json.ts';
import type { JsonObject, JsonValue } from '../../core/json.ts';
import { OmittedOperation, type Conversion } from './operation.ts';
import { followReferences } from './resolve-references.ts';

/** An operation as it stands in the document. */
export interface ListedOperation {
  /** Upper case. */
  method: string;
  path: string;
  operationId: string;
  pathItem: JsonObject;
  operation: JsonObject;
}

const offered = new Set(['get', 'put', 'post', 'delete', 'patch']);
/** They answer nothing that a model could read (`query` is OpenAPI 3.2's). */
const notOffered = new Set(['head', 'options', 'trace', 'query']);

/** Every operation of the document, in its order; those that no function can be made of are named with the reason. */
export function listOperations(document: JsonObject): { listed: ListedOperation[]; omitted: Conversion['omitted'] } {
  const listed: ListedOperation[] = [];
  const omitted: Conversion['omitted'] = [];
  const paths = ownValue(document, 'paths');
  for (const [path, entry] of Object.entries(isJsonObject(paths) ? paths : {})) {
    if (path.startsWith('x-')) continue;
    try {
      const found = listPath(document, path, entry);
      listed.push(...found.listed);
      omitted.push(...found.omitted);
    } catch (error) {
      if (!(error instanceof OmittedOperation)) throw error;
      omitted.push({ operation: path, reason: error.message });
    }
  }
  return { listed, omitted };
}

function listPath(document: JsonObject, path: string, entry: JsonValue | undefined): ReturnType<typeof listOperations> {
  const pathItem = readPathItem(document, entry);
  const methods = Object.entries(pathItem).flatMap(([method, operation]) => (isJsonObject(operation) ? [{ method, operation }] : []));
  const known = methods.filter(({ method }) => offered.has(method));
  const others = methods.filter(({ method }) => notOffered.has(method));
  const problem = problemOf(path);
  const omitted = others.map(({ method }) => omission(method, path, `${method.toUpperCase()} is not offered`));
  if (problem !== undefined) return { listed: [], omitted: [...omitted, ...known.map(({ method }) => omission(method, path, problem))] };
  return { listed: known.map(({ method, operation }) => toListed({ method, path, pathItem, operation })), omitted };
}

/** A path item may be a reference; keys beside it stand. */
function readPathItem(document: JsonObject, entry: JsonValue | undefined): JsonObject {
  if (!isJsonObject(entry)) throw new OmittedOperation('it is no object');
  const { $ref: _reference, ...beside } = entry;
  return { ...followReferences(document, entry), ...beside };
}

function toListed(entry: Omit<ListedOperation, 'operationId'>): ListedOperation {
  const id = ownValue(entry.operation, 'operationId');
  const path = entry.path.startsWith('/') ? entry.path : `/${entry.path}`;
  const operationId = typeof id === 'string' && id.trim() !== '' ? id.trim() : derivedId(entry.method, path);
  return { ...entry, path, method: entry.method.toUpperCase(), operationId };
}

/** `GET /users/{id}/posts` → `get_users_id_posts`. */
function derivedId(method: string, path: string): string {
  const words = path.split(/[^\p{L}\p{N}_-]+/u).filter((word) => word !== '');
  return [method, ...words].join('_');
}

/** A template that would leave the server's own path, or that no URL can hold. */
function problemOf(path: string): string | undefined {
  const segments = path.split('/').map((segment) => segment.replaceAll(/%2e/gi, '.'));
  if (segments.some((segment) => segment === '.' || segment === '..')) return 'its path contains "." or ".."';
  // eslint-disable-next-line no-control-regex -- control characters are what is looked for
  if (/[\u0000-\u001f\u007f\\]/.test(path)) return 'its path contains a character that no URL can hold';
  return undefined;
}

function omission(method: string, path: string, reason: string): Conversion['omitted'][number] {
  return { operation: `${method.toUpperCase()} ${path}`, reason };
}
