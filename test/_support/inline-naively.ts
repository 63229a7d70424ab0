import { isJsonObject, ownValue } from '../../src/core/json.ts';
import type { JsonObject, JsonValue } from '../../src/core/json.ts';
import type { Operation } from '../../src/tools/openapi/operation.ts';
import { readRequestParts } from '../../src/tools/openapi/read-request-parts.ts';
import { followReferences, referenceOf, resolveReference } from '../../src/tools/openapi/resolve-references.ts';

const spendNothing = (): void => undefined;
/** More would be written than any converter could send; what is cut off makes the comparison only harder to win. */
const maxCharacters = 2_000_000;

/** A function as the simplest converter makes it: schemas as they stand, with every reference written out. */
export interface NaiveFunction {
  name: string;
  description: string;
  parameters: JsonObject;
}

/**
 * The bar that tokens are measured against. Words, titles, examples and everything else stay; a reference within itself becomes `{}`, which is
 * what most converters do. The body stands under its own properties where it has some, else under `body`.
 */
export function inlineNaively(document: JsonObject, operation: Operation): NaiveFunction {
  const paths = ownValue(document, 'paths') as JsonObject;
  const pathItem = followReferences(document, paths[operation.path] ?? paths[operation.path.slice(1)]) ?? {};
  const own = ownValue(pathItem, operation.method.toLowerCase()) as JsonObject;
  const { parameters, requestBody } = readRequestParts(document, { pathItem, operation: own }, spendNothing);
  const properties: JsonObject = {};
  const required: string[] = [];
  for (const parameter of parameters) {
    const name = String(parameter['name']);
    const schema = inlined(document, parameter['schema'] ?? firstSchema(parameter) ?? {}, []);
    properties[name] = {
      ...(isJsonObject(schema) ? schema : {}),
      ...(parameter['description'] !== undefined && { description: parameter['description'] }),
    };
    if (parameter['required'] === true) required.push(name);
  }
  const body = followReferences(document, requestBody);
  const schema = body === undefined ? undefined : inlined(document, jsonSchema(body) ?? {}, []);
  const lifted = isJsonObject(schema) ? ownValue(schema, 'properties') : undefined;
  if (isJsonObject(lifted)) Object.assign(properties, lifted);
  else if (schema !== undefined) properties['body'] = schema;
  if (isJsonObject(lifted) && isJsonObject(schema) && Array.isArray(schema['required'])) required.push(...(schema['required'] as string[]));
  const words = [ownValue(own, 'description'), ownValue(own, 'summary')].find((text) => typeof text === 'string' && text !== '');
  return {
    name: operation.operationId,
    description: typeof words === 'string' ? words : `${operation.method} ${operation.path}`,
    parameters: { type: 'object', properties, required },
  };
}

/** As JSON; cut at a length that no model could read. */
export function naiveText(naive: NaiveFunction): string {
  return JSON.stringify({ type: 'function', function: naive }).slice(0, maxCharacters);
}

function firstSchema(holder: JsonObject): JsonValue | undefined {
  const content = ownValue(holder, 'content');
  const [first] = isJsonObject(content) ? Object.values(content) : [];
  return isJsonObject(first) ? ownValue(first, 'schema') : undefined;
}

function jsonSchema(body: JsonObject): JsonValue | undefined {
  const content = ownValue(body, 'content');
  const json = isJsonObject(content) ? ownValue(content, 'application/json') : undefined;
  return isJsonObject(json) ? ownValue(json, 'schema') : firstSchema(body);
}

function inlined(document: JsonObject, value: JsonValue | undefined, opened: readonly string[]): JsonValue | undefined {
  if (Array.isArray(value)) return value.map((entry) => inlined(document, entry, opened) ?? null);
  if (!isJsonObject(value)) return value;
  const reference = referenceOf(value);
  if (reference !== undefined) {
    if (opened.includes(reference)) return {};
    return inlined(document, tryResolve(document, reference), [...opened, reference]);
  }
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, inlined(document, child, opened)]));
}

function tryResolve(document: JsonObject, reference: string): JsonValue {
  try {
    return resolveReference(document, reference);
  } catch {
    return {};
  }
}
