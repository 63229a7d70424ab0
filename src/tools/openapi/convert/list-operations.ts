import { isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';
import { limits } from '../../../core/limits.ts';
import { BudgetSpent, spendOnNames, textCost, type Spend } from '../conversion-budget.ts';
import { isDotSegment } from '../request-rules.ts';
import { OmittedOperation, type Conversion } from '../../definitions/operation.ts';
import { followReferences } from '../document/resolve-references.ts';

/** An operation as the document has it. */
export interface ListedOperation {
  /** Upper case. */
  method: string;
  path: string;
  operationId: string;
  pathItem: JsonObject;
  operation: JsonObject;
}

/** Longer ones no server takes, and no report can show. */
const pathCharacters = 2_048;
const operationIdCharacters = 1_024;
const shownCharacters = 120;
/** Listing a path or an operation takes several times as long as a schema. */
const entryNodes = 4;
export const tooManyOperations = `the document has more than ${limits.operations} operations`;

const maxLinks = 20;
/** A link in Markdown to the page of a document at another path of the same server, as mcpo writes them: `[time](/time/docs)`. */
const pageLink = /\]\((\/[\w./~-]{1,200})\/docs\/?\)/g;

/** `query` is OpenAPI 3.2's: a GET with a body. */
const offered = new Set(['get', 'put', 'post', 'delete', 'patch', 'query']);
/** Their responses have nothing that a model could read. */
const notOffered = new Set(['head', 'options', 'trace']);

/** The operations that can be converted, and the others. */
interface OperationList {
  listed: ListedOperation[];
  omitted: Conversion['omitted'];
}

/**
 * Every operation of the document, in its order; those that cannot become functions are named with the reason. The list ends when the budget is
 * spent, and after the largest possible number of operations: the paths after that are one entry.
 */
export function listOperations(document: JsonObject, spend: Spend): OperationList {
  const listed: ListedOperation[] = [];
  const omitted: Conversion['omitted'] = [];
  const paths = ownValue(document, 'paths');
  const entries = isJsonObject(paths) ? paths : {};
  for (const path of Object.keys(entries)) {
    if (path.startsWith('x-')) continue;
    if (listed.length >= limits.operations) {
      omitted.push({ operation: andAllAfter(path), reason: tooManyOperations });
      break;
    }
    try {
      spend(entryNodes);
      const found = listPath({ document, path, entry: entries[path] }, spend);
      listed.push(...found.listed);
      omitted.push(...found.omitted);
    } catch (error) {
      if (!(error instanceof OmittedOperation)) throw error;
      const isLast = error instanceof BudgetSpent;
      omitted.push({ operation: isLast ? andAllAfter(path) : path, reason: error.message });
      if (isLast) break;
    }
  }
  return { listed, omitted };
}

function andAllAfter(path: string): string {
  return `${path.slice(0, shownCharacters)} and all after it`;
}

interface PathEntry {
  document: JsonObject;
  path: string;
  entry: JsonValue | undefined;
}

function listPath({ document, path, entry }: PathEntry, spend: Spend): OperationList {
  if (path.length > pathCharacters) {
    const reason = `its path has more than ${pathCharacters} characters`;
    return { listed: [], omitted: [{ operation: `${path.slice(0, shownCharacters)}…`, reason }] };
  }
  const pathItem = readPathItem(document, entry, spend);
  const methods = Object.entries(pathItem).flatMap(([method, operation]) => (isJsonObject(operation) ? [{ method, operation }] : []));
  const known = methods.filter(({ method }) => offered.has(method));
  const others = [...methods.map(({ method }) => method).filter((method) => notOffered.has(method)), ...furtherMethods(pathItem, spend)];
  const omit = (method: string, reason: string): Conversion['omitted'][number] => ({
    operation: `${method.toUpperCase()} ${path}`,
    reason,
  });
  const omitted = others.map((method) => omit(method, `${method.toUpperCase()} operations are not offered`));
  const problem = problemOf(path);
  if (problem !== undefined) return { listed: [], omitted: [...omitted, ...known.map(({ method }) => omit(method, problem))] };
  return { listed: known.map(({ method, operation }) => toListed({ method, path, pathItem, operation }, spend)), omitted };
}

/** Methods of OpenAPI 3.2's `additionalOperations`, such as COPY: what they do is not known, and many servers refuse them. */
function furtherMethods(pathItem: JsonObject, spend: Spend): string[] {
  const methods = Object.keys(ownValue(pathItem, 'additionalOperations') ?? {});
  spendOnNames(methods, spend);
  return methods.map((method) => method.slice(0, shownCharacters));
}

/** A path item may be a reference; keys beside it stand. */
function readPathItem(document: JsonObject, entry: JsonValue | undefined, spend: Spend): JsonObject {
  if (!isJsonObject(entry)) throw new OmittedOperation('it is no object');
  const target = followReferences(document, entry, spend);
  for (const item of new Set([entry, target])) spendOnNames(Object.keys(item ?? {}), spend);
  const { $ref: _reference, ...beside } = entry;
  return { ...target, ...beside };
}

function toListed(entry: Omit<ListedOperation, 'operationId'>, spend: Spend): ListedOperation {
  const declared = ownValue(entry.operation, 'operationId');
  const id = typeof declared === 'string' ? declared.slice(0, operationIdCharacters).trim() : '';
  spend(entryNodes + textCost(id));
  const path = entry.path.startsWith('/') ? entry.path : `/${entry.path}`;
  const operationId = id === '' ? derivedId(entry.method, path) : id;
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
  if (segments.some(isDotSegment)) return 'its path contains "." or ".."';
  // eslint-disable-next-line no-control-regex -- control characters are what is looked for
  if (/[\u0000-\u001f\u007f\\]/.test(path)) return 'its path contains a character that no URL can hold';
  return undefined;
}

/**
 * Why a document gives no function although nothing of it was left out: it lists no operation. A server that has one document for each of its parts
 * (mcpo with several servers, FastAPI with mounted applications) often has such a document at its root; where it names the parts, so does this.
 */
export function explainNoOperations(document: JsonObject): string {
  const info = ownValue(document, 'info');
  const description = isJsonObject(info) ? ownValue(info, 'description') : undefined;
  const links = typeof description === 'string' ? [...description.slice(0, 100_000).matchAll(pageLink)] : [];
  const paths = [...new Set(links.flatMap(([, path]) => (path === undefined ? [] : [path])))].slice(0, maxLinks);
  const said = 'The document lists no operation, so it yields no function.';
  return paths.length === 0
    ? `${said} If a server has several documents, register each by its own URL.`
    : `${said} It names others: register each with this URL followed by its path (${paths.join(', ')}).`;
}
