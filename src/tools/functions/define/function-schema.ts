import { z } from 'zod';
import { limits } from '../../../core/limits.ts';
import { findByPointer } from '../../../shared/json-pointer.ts';
import { isDeeperThan, isJsonObject, ownValue } from '../../../shared/json.ts';
import type { JsonObject, JsonValue } from '../../../shared/json.ts';
import type { FunctionTool, ReadArguments, ToolParameters } from './function-definition.ts';

/** More of them say little more to a model. */
const shownIssues = 5;

export type FunctionSchema = { schema: JsonObject; readArguments: FunctionTool['readArguments'] };

/**
 * The one schema of a function: what a model reads, and how arguments become what `execute` gets. A zod schema is taken by what goes in,
 * so that what is optional or has a default is not required; it then fills in defaults, transforms and refines.
 * @throws Error with what is wrong and the cure
 */
export function readSchema(parameters: ToolParameters): FunctionSchema {
  if (!isZodSchema(parameters)) return readJsonSchema(parameters);
  return { schema: requireObject(toJsonSchema(parameters)), readArguments: (args) => readByZod(parameters, args) };
}

function toJsonSchema(schema: z.ZodType): JsonObject {
  try {
    const {
      $schema: _dialect,
      '~standard': _standard,
      ...rest
    } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', override: inWordsOfModels }) as JsonObject;
    return rest;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`${reason}; use what JSON can hold, such as z.coerce.date() instead of z.date(), or write JSON Schema`, {
      cause: error,
    });
  }
}

/** What goes in can never be JSON. `transform` is what comes out of something that can. */
const beyondJson = new Set(['bigint', 'custom', 'function', 'map', 'nan', 'promise', 'set', 'symbol', 'undefined', 'void']);

type Override = NonNullable<NonNullable<Parameters<typeof z.toJSONSchema>[1]>['override']>;

/**
 * A date is written as a text, where the schema makes a date of it. What a model learns nothing from goes: the bounds of what JavaScript can count, which
 * `z.int()` states, and the pattern of a format, which has hundreds of characters; zod checks both itself.
 * @throws Error for what JSON cannot hold
 */
const inWordsOfModels: Override = ({ zodSchema, jsonSchema }) => {
  const definition: { type: string; coerce?: boolean } = zodSchema._zod.def;
  if (definition.type === 'date' && definition.coerce === true) Object.assign(jsonSchema, { type: 'string', format: 'date-time' });
  else if (definition.type === 'date') throw new Error('a date cannot be represented in JSON');
  if (beyondJson.has(definition.type)) throw new Error(`${definition.type} cannot be represented in JSON`);
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
};

/** By its form: a folder may have a zod of its own. Older ones have another form, and no JSON Schema. */
function isZodSchema(value: ToolParameters): value is z.ZodType {
  if ('_zod' in value) return true;
  if ('_def' in value) throw new Error('this is a schema of zod 3; import z from "zod", which is version 4 here');
  return false;
}

function requireObject(schema: JsonObject): JsonObject {
  if (schema['type'] === 'object') return { ...schema, properties: isJsonObject(schema['properties']) ? schema['properties'] : {} };
  throw new Error(
    'the root is no object; write z.object({ … }), or {"type": "object", "properties": { … }}; a choice (union, oneOf) belongs into a property of it',
  );
}

async function readByZod(schema: z.ZodType, args: JsonObject): Promise<ReadArguments> {
  const read = await schema.safeParseAsync(args);
  if (read.success) return { type: 'read', value: read.data };
  const sentences = read.error.issues.slice(0, shownIssues).map(({ path, message }) => {
    return path.length === 0 ? message : `${path.map(String).join('.')}: ${message}`;
  });
  return { type: 'invalid', message: sentences.join('; ') };
}

/** Keywords of an object whose type is left out. */
const objectKeywords = ['properties', 'required', 'description', 'title', '$schema', '$defs', 'definitions', 'additionalProperties'];

/** The keywords reach the model and the check unchanged. */
function readJsonSchema(parameters: JsonObject): FunctionSchema {
  if (isDeeperThan(parameters, limits.jsonDepth)) throw new Error(`it is nested more than ${limits.jsonDepth} levels deep`);
  const problem = findProblem(parameters, parameters);
  if (problem !== undefined) throw new Error(problem);
  const copy = structuredClone(parameters);
  const isObject = Object.keys(copy).every((key) => objectKeywords.includes(key));
  const schema = requireObject(isObject ? { type: 'object', ...copy } : copy);
  const hasDefaults = JSON.stringify(schema).includes('"default"');
  return { schema, readArguments: (args) => ({ type: 'read', value: hasDefaults ? withDefaults(args, schema) : args }) };
}

/** Of properties, also within objects that are given; a default beside a reference or a choice is left to the function. */
function withDefaults(args: JsonObject, schema: JsonObject): JsonObject {
  const filled = { ...args };
  const properties = ownValue(schema, 'properties');
  for (const [key, child] of Object.entries(isJsonObject(properties) ? properties : {})) {
    if (!isJsonObject(child)) continue;
    const given = ownValue(args, key);
    const value = given === undefined ? structuredClone(child['default']) : isJsonObject(given) ? withDefaults(given, child) : given;
    // Not an assignment: a property may be called __proto__.
    if (value !== undefined) Object.defineProperty(filled, key, { value, writable: true, enumerable: true, configurable: true });
  }
  return filled;
}

/** Keywords below which names are the author's own, each with a schema. */
const namedSchemas = ['properties', '$defs', 'definitions', 'patternProperties', 'dependentSchemas'];
/** Keywords with a schema, or with a list of them: `items` has a list where older dialects have it for `prefixItems`. */
const schemas = [
  'items',
  'additionalProperties',
  'not',
  'if',
  'then',
  'else',
  'contains',
  'propertyNames',
  'unevaluatedProperties',
  'allOf',
  'anyOf',
  'oneOf',
  'prefixItems',
];
const typeNames = new Set<unknown>(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']);

/**
 * What of a JSON Schema written by hand can never work: a schema that cannot be compiled checks nothing, and a strict backend refuses every
 * function of the request for it. Undefined: nothing was found.
 */
function findProblem(schema: JsonValue, root: JsonObject, path = ''): string | undefined {
  if (typeof schema === 'boolean') return undefined;
  if (!isJsonObject(schema)) return `${path} is no schema, but ${Array.isArray(schema) ? 'a list' : typeof schema}`;
  const own = problemOfKeywords(schema, root);
  if (own !== undefined) return path === '' ? own : `${path}: ${own}`;
  for (const [step, child] of childrenOf(schema)) {
    const problem = findProblem(child, root, path === '' ? step : `${path}.${step}`);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function childrenOf(schema: JsonObject): [step: string, child: JsonValue][] {
  return Object.entries(schema).flatMap(([keyword, value]): [string, JsonValue][] => {
    const isList = schemas.includes(keyword) && Array.isArray(value);
    if (isList || (namedSchemas.includes(keyword) && isJsonObject(value)))
      return Object.entries(value as JsonObject).flatMap(([name, child]) => (child === undefined ? [] : [[`${keyword}.${name}`, child]]));
    return schemas.includes(keyword) && value !== undefined ? [[keyword, value]] : [];
  });
}

function problemOfKeywords({ $ref: reference, type, properties, required, pattern }: JsonObject, root: JsonObject): string | undefined {
  if (reference !== undefined && !isFound(reference, root))
    return `$ref ${JSON.stringify(reference)} leads nowhere; write "#/$defs/…" and put the schema below $defs`;
  const unknownType = [type ?? []].flat().find((name) => !typeNames.has(name));
  if (unknownType !== undefined) return `type ${JSON.stringify(unknownType)} is none; types are ${[...typeNames].join(', ')}`;
  if (properties !== undefined && !isJsonObject(properties)) return 'properties is an object, with a schema for each name';
  if (required !== undefined && !(Array.isArray(required) && required.every((name) => typeof name === 'string')))
    return 'required is a list of names, beside properties';
  return pattern === undefined || isPattern(pattern) ? undefined : `pattern ${JSON.stringify(pattern)} is no regular expression`;
}

/** Only within the schema itself: a model cannot read another document. A name given by `$anchor` is taken on trust. */
function isFound(reference: JsonValue, root: JsonObject): boolean {
  if (typeof reference !== 'string') return false;
  return /^#[^/]/.test(reference) || findByPointer(root, reference) !== undefined;
}

function isPattern(pattern: JsonValue): boolean {
  try {
    return typeof pattern === 'string' && RegExp(pattern) instanceof RegExp;
  } catch {
    return false;
  }
}
