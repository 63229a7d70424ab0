import { isJsonObject, type JsonObject, type JsonValue } from '../../src/shared/json/json.ts';
import type { ArgumentBinding, Operation } from '../../src/tools/definitions/operation.ts';

/** What one request says, in a form in which two can be compared; nothing is encoded any more. */
export interface Spoken {
  path: string[];
  query: string[];
  headers: string[];
  cookies: string[];
  body: unknown;
}

/** Where the oracle writes something else, and which section says what is written. */
interface Explanation {
  section: string;
  explains: (part: keyof Spoken, difference: { operation: Operation; args: JsonObject; ours: Spoken; theirs: Spoken }) => boolean;
}

export const decode = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};
export const bodyKindOf = ({ body }: Operation): string => body?.format ?? 'json';
export const placesOf = (operation: Operation, args: JsonObject, place: ArgumentBinding['in']): [ArgumentBinding, JsonValue][] =>
  operation.bindings.flatMap((entry): [ArgumentBinding, JsonValue][] => {
    const value = args[entry.argument];
    return entry.in === place && value !== undefined && value !== null ? [[entry, value]] : [];
  });
const isNested = (value: JsonValue): boolean =>
  typeof value === 'object' && value !== null && Object.values(value).some((member) => typeof member === 'object' && member !== null);

/** Without what is empty, and without members of which nothing else is left. */
function withoutEmpty(value: JsonValue | undefined): JsonValue | undefined {
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).flatMap(([key, member]): [string, JsonValue][] => {
    const left = withoutEmpty(member);
    return left === undefined || left === null ? [] : [[key, left]];
  });
  if (kept.length === 0) return undefined;
  return Array.isArray(value) ? kept.map(([, member]) => member) : Object.fromEntries(kept);
}

export const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

const explanations: Explanation[] = [
  {
    section: 'RFC 3986, section 3.5: a fragment is not sent',
    explains: (part, { operation }) => part === 'path' && operation.path.includes('#'),
  },
  {
    section: 'RFC 8259, sections 4 and 5: empty objects and lists are values; the oracle tidies them away',
    explains: (part, { operation, ours, theirs }) =>
      part === 'body' &&
      bodyKindOf(operation) === 'json' &&
      isSame(withoutEmpty(ours.body as JsonValue), withoutEmpty(theirs.body as JsonValue)),
  },
  {
    section: 'OpenAPI 3.1.1, section 4.8.13 (Request Body Object): a required body is sent, without arguments too',
    explains: (part, { operation, args, theirs }) =>
      part === 'body' && operation.body?.isRequired === true && placesOf(operation, args, 'body').length === 0 && theirs.body === undefined,
  },
  {
    section: 'OpenAPI 3.1.1, section 4.8.12.2 (allowReserved) with RFC 3986, section 3.4: what would end a value stays encoded',
    explains: (part, { operation, args }) =>
      part === 'query' &&
      placesOf(operation, args, 'query').some(([{ allowReserved }, value]) => allowReserved === true && /[&=+#]/.test(String(value))),
  },
  {
    section: 'OpenAPI 3.1.1, section 4.8.12.6 (Style Examples), as RFC 6570, section 3.2.5: a label that is not exploded has commas',
    explains: (part, { operation, args }) =>
      part === 'path' &&
      placesOf(operation, args, 'path').some(
        ([{ style, explode }, value]) => style === 'label' && explode !== true && typeof value === 'object',
      ),
  },
  {
    section: 'OpenAPI 3.1.1, section 4.8.12.2.1: paths have the style simple where none is stated, objects too',
    explains: (part, { operation, args, theirs }) =>
      part === 'path' &&
      theirs.path.includes('[object Object]') &&
      placesOf(operation, args, 'path').some(([{ style }, value]) => style === undefined && isJsonObject(value)),
  },
  {
    section: 'OpenAPI 3.1.1, section 4.8.12.6: an exploded object gives each member a pair, and its own name none',
    explains: (part, { operation, args }) =>
      part === 'query' &&
      placesOf(operation, args, 'query').some(
        ([{ style, explode }, value]) => (style ?? 'form') === 'form' && explode !== false && isJsonObject(value),
      ),
  },
  {
    section: 'OpenAPI 3.1.1, section 4.8.12.2.1 (required): an optional parameter without a value is not sent',
    explains: (part, { operation, args, ours, theirs }) =>
      part === 'query' &&
      isSame(
        ours.query,
        theirs.query.filter(
          (pair) => !operation.bindings.some(({ name, argument }) => args[argument] === undefined && pair === `${name}=`),
        ),
      ),
  },
  {
    section: 'OpenAPI 3.1.1, section 4.8.12.6: deepObject is undefined for lists and single values',
    explains: (part, { operation, args }) =>
      part === 'body' && placesOf(operation, args, 'body').some(([{ style }, value]) => style === 'deepObject' && !isJsonObject(value)),
  },
  {
    section: 'OpenAPI 3.1.1, Appendix D: headers are not percent-encoded, and their default style is simple',
    explains: (part, { operation, args }) =>
      part === 'headers' &&
      placesOf(operation, args, 'header').some(([{ style }, value]) => style !== undefined || typeof value === 'object'),
  },
  {
    section: 'RFC 7578, section 5.1: the content of a part is not percent-encoded',
    explains: (part, { operation, ours, theirs }) =>
      part === 'body' &&
      bodyKindOf(operation) === 'multipart' &&
      isSame(ours.body, (theirs.body as string[] | undefined)?.map(decode).sort()),
  },
  {
    section: 'OpenAPI 3.1.1, section 4.8.15.1.1 (Encoding Object): without a style an object, or a list of objects, is sent as JSON',
    explains: (part, { operation, args }) =>
      part === 'body' &&
      ['form', 'multipart'].includes(bodyKindOf(operation)) &&
      placesOf(operation, args, 'body').some(([{ style }, value]) => style === undefined && (isJsonObject(value) || isNested(value))),
  },
];

/** Whether a section of a specification says why two requests differ in this part. */
export function isExplained(part: keyof Spoken, difference: Parameters<Explanation['explains']>[1]): boolean {
  return explanations.some(({ explains }) => explains(part, difference));
}
