import { isJsonObject, ownValue } from '../../core/json.ts';
import type { JsonObject } from '../../core/json.ts';
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
      const pathItem = readPathItem(document, entry);
      const methods = Object.keys(pathItem).filter((key) => isJsonObject(pathItem[key]));
      omitted.push(
        ...methods.filter((key) => notOffered.has(key)).map((key) => omission(key, path, `${key.toUpperCase()} is not offered`)),
      );
      const problem = problemOf(path);
      for (const method of methods.filter((key) => offered.has(key))) {
        const operation = ownValue(pathItem, method);
        if (problem !== undefined) omitted.push(omission(method, path, problem));
        else if (isJsonObject(operation)) listed.push(toListed({ method, path, pathItem, operation }));
      }
    } catch (error) {
      if (!(error instanceof OmittedOperation)) throw error;
      omitted.push({ operation: path, reason: error.message });
    }
  }
  return { listed, omitted };
}

/** A path item may be a reference; keys beside it stand. */
function readPathItem(document: JsonObject, entry: unknown): JsonObject {
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
