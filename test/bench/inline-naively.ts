import { isJsonObject, ownValue } from '../../src/shared/json/json.ts';
import type { JsonObject, JsonValue } from '../../src/shared/json/json.ts';
import type { Operation } from '../../src/tools/definitions/operation.ts';
import { readRequestParts } from '../../src/tools/openapi/convert/read-request-parts.ts';
import { followReferences, resolveReference } from '../../src/tools/openapi/document/resolve-references.ts';
import { referenceOf } from '../../src/shared/json-schema/resolve.ts';

const spendNothing = (): void => undefined;
/** More would be written than any converter could send; what is cut off makes the comparison only harder to win. */
const maxCharacters = 2_000_000;

/** A function as the simplest converter makes it: schemas as they stand, with every reference written out. */
export interface NaiveFunction {
  name: string;
  description: string;
  parameters: JsonObject;
  /** What the operation answers: only `inlineWithAnswer` says it. */
  outputSchema?: JsonValue;
}

/**
 * The bar that tokens are measured against: what a model is sent. Words, titles, examples and everything else stay; a reference within itself
 * becomes `{}`, which is what most converters do (Open WebUI, openapi-mcp-server). The body stands under its own properties where it has some, else
 * under `body`; of several media types JSON is taken; parameters of the path and of all places are there; the description is the operation's, else
 * its summary, as FastMCP has it. OpenAI's cookbook (`openapi_to_functions`) sends less: it loses the descriptions of parameters.
 */
export function inlineNaively(document: JsonObject, operation: Operation): NaiveFunction {
  const { pathItem, own } = operationIn(document, operation);
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

/**
 * The other reading of the bar: as FastMCP 3 lists tools (`tools/list` of the Model Context Protocol), with the schema of the first answer of success
 * beside the parameters. Its `DereferenceRefsMiddleware`, on by default, writes out every reference in both. What of that a model reads its client
 * decides; the other converters that were looked at send parameters alone.
 */
export function inlineWithAnswer(document: JsonObject, operation: Operation): NaiveFunction {
  const responses = ownValue(operationIn(document, operation).own, 'responses');
  const status = isJsonObject(responses) ? Object.keys(responses).find((key) => key.startsWith('2')) : undefined;
  const answer = isJsonObject(responses) && status !== undefined ? tryFollow(document, responses[status]) : undefined;
  const schema = answer === undefined ? undefined : (ownValue(answer, 'schema') ?? jsonSchema(answer));
  const naive = inlineNaively(document, operation);
  return schema === undefined ? naive : { ...naive, outputSchema: inlined(document, schema, []) ?? {} };
}

/** As JSON; cut at a length that no model could read. */
export function naiveText(naive: NaiveFunction): string {
  return JSON.stringify({ type: 'function', function: naive }).slice(0, maxCharacters);
}

function operationIn(document: JsonObject, { path, method }: Operation): { pathItem: JsonObject; own: JsonObject } {
  const paths = ownValue(document, 'paths') as JsonObject;
  const pathItem = followReferences(document, paths[path] ?? paths[path.slice(1)]) ?? {};
  return { pathItem, own: ownValue(pathItem, method.toLowerCase()) as JsonObject };
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

function tryFollow(document: JsonObject, value: JsonValue | undefined): JsonObject | undefined {
  try {
    return followReferences(document, value);
  } catch {
    return undefined;
  }
}

function tryResolve(document: JsonObject, reference: string): JsonValue {
  try {
    return resolveReference(document, reference);
  } catch {
    return {};
  }
}
