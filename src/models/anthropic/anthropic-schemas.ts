import type { OutputForm } from '../../core/models/model.ts';
import { alternativesOf, flatten, memberOf, membersOf, type FlatSchema } from '../../shared/json-schema/flatten.ts';
import { schemaKeywords, schemaMaps, typesOf } from '../../shared/json-schema/keywords.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../shared/json/json.ts';
import { describeDropped } from '../schema-profiles/describe-dropped.ts';

/** A function's schema in the form that Anthropic takes. */
interface InputSchema {
  schema: JsonObject;
  /** What the schema no longer says, for the description of the function. */
  note?: string;
}

const acceptedKey = /^[a-zA-Z0-9_.-]{1,64}$/;
/** More schemas than this are taken to have such a key: they are looked through for each new function only. */
const searchedSchemas = 20_000;

/**
 * Anthropic takes JSON Schema of 2020-12, but of an object without `oneOf`, `anyOf` or `allOf` at its top, and refuses properties whose names have other
 * characters. Arguments are still checked against the whole schema.
 */
export function toInputSchema(parameters: JsonObject): InputSchema {
  if (hasOddKey(parameters)) {
    const note = `The input is an object that fits this JSON Schema: ${JSON.stringify(parameters)}`;
    return { schema: { type: 'object', additionalProperties: true }, note };
  }
  const { $schema: _dialect, ...schema } = parameters;
  const isPlain = ['$ref', 'allOf', 'anyOf', 'oneOf'].every((keyword) => schema[keyword] === undefined);
  if (isPlain) return { schema: schema['type'] === 'object' ? schema : { ...schema, type: 'object' } };
  return mergedSchema(schema);
}

function mergedSchema(root: JsonObject): InputSchema {
  const { $ref: _reference, allOf: _all, anyOf: _any, oneOf: _one, ...rest } = root;
  const flat = flatten(root, root);
  const branches = (alternativesOf(flat)?.branches ?? []).flatMap((branch) => (isJsonObject(branch) ? [flatten(branch, root)] : []));
  const properties = Object.fromEntries([...branches.toReversed(), flat].flatMap((one) => [...membersOf(one)]));
  const required = new Set(requiredIn(flat));
  const [first, ...others] = branches.map(requiredIn);
  for (const name of first ?? []) if (others.every((names) => names.includes(name))) required.add(name);
  const isClosed = flat.parts.length === 1 && branches.length === 0;
  const { additionalProperties: more, ...open } = rest;
  const schema: JsonObject = { ...open, type: 'object', properties, ...(isClosed && more !== undefined && { additionalProperties: more }) };
  if (required.size > 0) schema['required'] = [...required];
  else delete schema['required'];
  const note = branches.length < 2 ? undefined : `The input has one of these forms: ${branches.map(shownForm).join(' | ')}`;
  return { schema, ...(note !== undefined && { note }) };
}

function requiredIn({ parts }: FlatSchema): string[] {
  return parts.flatMap(({ required }) => (Array.isArray(required) ? required.filter((name) => typeof name === 'string') : []));
}

/** `{city, country?}`, `{kind: "point", x, y}`. */
function shownForm(branch: FlatSchema): string {
  const required = requiredIn(branch);
  const names = [...new Set([...[...membersOf(branch)].map(([name]) => name), ...required])];
  const shown = names.map((name) => {
    const member = memberOf(branch, name);
    const only = isJsonObject(member) ? (member['const'] ?? (isSingle(member['enum']) ? member['enum'][0] : undefined)) : undefined;
    return `${name}${required.includes(name) ? '' : '?'}${only === undefined ? '' : `: ${JSON.stringify(only)}`}`;
  });
  return `{${shown.join(', ')}}`;
}

function isSingle(list: JsonValue | undefined): list is [JsonValue] {
  return Array.isArray(list) && list.length === 1;
}

/** Schemas may be deep, so without recursion. */
function hasOddKey(root: JsonObject): boolean {
  const waiting: (JsonValue | undefined)[] = [root];
  for (let seen = 0; waiting.length > 0; seen += 1) {
    const schema = waiting.pop();
    if (seen > searchedSchemas) return true;
    if (!isJsonObject(schema)) continue;
    const { properties } = schema;
    if (isJsonObject(properties) && !Object.keys(properties).every((name) => acceptedKey.test(name))) return true;
    waiting.push(...Object.entries(schema).flatMap(([keyword, value]) => schemasIn(keyword, value)));
  }
  return false;
}

function schemasIn(keyword: string, value: JsonValue | undefined): (JsonValue | undefined)[] {
  if (schemaMaps.has(keyword)) return isJsonObject(value) ? Object.values(value) : [];
  return schemaKeywords.has(keyword) ? [value].flat() : [];
}

const formats = new Set(['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'uri', 'ipv4', 'ipv6', 'uuid']);
const kept = ['$ref', 'type', 'title', 'description', 'enum', 'const', 'default'] as const;
const dropped = new Set(
  'minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern minItems maxItems uniqueItems minProperties maxProperties'.split(
    ' ',
  ),
);
const maxDepth = 64;

/** It allows keys of its own, which structured output cannot: they would be closed, and the model could give none. */
class NotEnforceable extends Error {}

/**
 * The schema of an answer in the part of JSON Schema that Anthropic enforces (`output_config.format`): closed objects, no bounds. Undefined where that
 * would change which answers are possible.
 */
export function toOutputSchema(schema: JsonObject): JsonObject | undefined {
  try {
    return outputSchema(schema, 1);
  } catch (error) {
    if (error instanceof NotEnforceable) return undefined;
    throw error;
  }
}

function outputSchema(schema: JsonValue | undefined, depth: number): JsonObject {
  if (!isJsonObject(schema) || depth > maxDepth) throw new NotEnforceable();
  const inner = (value: JsonValue | undefined): JsonObject => outputSchema(value, depth + 1);
  const result: JsonObject = {};
  for (const keyword of kept) if (schema[keyword] !== undefined) result[keyword] = schema[keyword];
  for (const keyword of ['$defs', 'definitions', 'properties']) {
    const map = schema[keyword];
    if (isJsonObject(map)) result[keyword] = Object.fromEntries(Object.entries(map).map(([name, child]) => [name, inner(child)]));
  }
  const { allOf, items, format, required } = schema;
  const choices = schema['anyOf'] ?? schema['oneOf'];
  if (Array.isArray(choices)) result['anyOf'] = choices.map(inner);
  if (Array.isArray(allOf)) result['allOf'] = allOf.map(inner);
  if (items !== undefined) result['items'] = inner(items);
  if (Array.isArray(required)) result['required'] = required;
  const isKnownFormat = typeof format === 'string' && formats.has(format);
  if (isKnownFormat) result['format'] = format;
  if (typesOf(schema).includes('object') || schema['properties'] !== undefined) {
    const { additionalProperties: more, patternProperties, properties } = schema;
    const isOpen = more === true || isJsonObject(more) || isJsonObject(patternProperties) || (properties === undefined && more !== false);
    if (isOpen) throw new NotEnforceable();
    result['additionalProperties'] = false;
  }
  return describeDropped(result, { original: schema, dropped: isKnownFormat ? dropped : new Set([...dropped, 'format']) });
}

/** How an answer in a form of the gateway's own is asked for. The models do not confuse their thinking with the answer, so nobody has to turn it off. */
export const anthropicForms = {
  form({ schema, strictSchema }: OutputForm, degree: string): JsonObject {
    const enforced = degree === 'schema' ? toOutputSchema(strictSchema ?? schema) : undefined;
    return enforced === undefined ? {} : { output_config: { format: { type: 'json_schema', schema: enforced } } };
  },
  withoutReasoning: (): undefined => undefined,
};
