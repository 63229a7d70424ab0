import { z } from 'zod';
import { limits } from '../../../core/limits.ts';
import { schemaKeywords, schemaMaps } from '../../../shared/json-schema/keywords.ts';
import { findByPointer } from '../../../shared/json-schema/pointer.ts';
import { copyJson, isDeeperThan, isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';
import { trustSchema } from '../../../validation/trusted-schemas.ts';
import type { FunctionTool, ReadArguments, ToolParameters } from './function-definition.ts';

/** Validation issues that the model is shown; more would add little. */
const shownIssues = 5;

type FunctionSchema = { schema: JsonObject; readArguments: FunctionTool['readArguments'] };

/**
 * Makes the JSON Schema that a model gets, and the function that validates arguments. Of a zod schema the input type counts, so that optional
 * parameters and those with a default are not required; the schema then fills in defaults, transforms and refines.
 * @throws Error that says what is wrong and how to fix it
 */
export function readSchema(parameters: ToolParameters): FunctionSchema {
  const read: FunctionSchema = isZodSchema(parameters)
    ? { schema: requireObject(toJsonSchema(parameters)), readArguments: (args) => readByZod(parameters, args) }
    : readJsonSchema(parameters);
  trustSchema(read.schema);
  return read;
}

function toJsonSchema(schema: z.ZodType): JsonObject {
  try {
    const {
      $schema: _dialect,
      '~standard': _standard,
      ...rest
    } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', override: overrideForModels }) as JsonObject;
    return rest;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`${reason}; use a type that JSON can represent, such as z.coerce.date() instead of z.date(), or write a JSON Schema`, {
      cause: error,
    });
  }
}

/** Types whose input can never be JSON. `transform` is not among them: its input can be. */
const beyondJson = new Set(['bigint', 'custom', 'function', 'map', 'nan', 'promise', 'set', 'symbol', 'undefined', 'void']);

type Override = NonNullable<NonNullable<Parameters<typeof z.toJSONSchema>[1]>['override']>;

/**
 * Writes a coerced date as a date-time string. Removes what tells a model nothing: the safe integer bounds that `z.int()` adds, and the pattern of a
 * format, which has hundreds of characters; zod checks both itself.
 * @throws Error for a type that JSON cannot represent
 */
const overrideForModels: Override = ({ zodSchema, jsonSchema }) => {
  const definition: { type: string; coerce?: boolean } = zodSchema._zod.def;
  if (definition.type === 'date' && definition.coerce === true) Object.assign(jsonSchema, { type: 'string', format: 'date-time' });
  else if (definition.type === 'date') throw new Error('a date cannot be represented in JSON');
  if (beyondJson.has(definition.type)) throw new Error(`${definition.type} cannot be represented in JSON`);
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
};

/** Detected by its fields, not by its class: a folder may have its own copy of zod. Schemas of zod 3 have other fields, and no JSON Schema. */
function isZodSchema(value: ToolParameters): value is z.ZodType {
  if ('_zod' in value) return true;
  if ('_def' in value) throw new Error('this is a zod 3 schema; import z from "zod", which is version 4 here');
  return false;
}

function requireObject(schema: JsonObject): JsonObject {
  if (schema['type'] === 'object') return { ...schema, properties: isJsonObject(schema['properties']) ? schema['properties'] : {} };
  throw new Error(
    'the root is not an object; write z.object({ … }) or {"type": "object", "properties": { … }}, and put a choice (union, oneOf) into a property',
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

/** A schema with only these keywords means an object, even without `type`. */
const objectKeywords = ['properties', 'required', 'description', 'title', '$schema', '$defs', 'definitions', 'additionalProperties'];

function readJsonSchema(parameters: JsonObject): FunctionSchema {
  if (isDeeperThan(parameters, limits.jsonDepth)) throw new Error(`it is nested more than ${limits.jsonDepth} levels deep`);
  const problem = findProblem(parameters, parameters);
  if (problem !== undefined) throw new Error(problem);
  const copy = copyJson(parameters);
  const isObject = Object.keys(copy).every((key) => objectKeywords.includes(key));
  const schema = requireObject(isObject ? { type: 'object', ...copy } : copy);
  const hasDefaults = JSON.stringify(schema).includes('"default"');
  return { schema, readArguments: (args) => ({ type: 'read', value: hasDefaults ? withDefaults(args, schema) : args }) };
}

/**
 * Fills in defaults of properties, also in nested objects that are present; defaults beside `$ref`, `oneOf` and the like are left to the function.
 */
function withDefaults(args: JsonObject, schema: JsonObject): JsonObject {
  const filled = { ...args };
  const properties = ownValue(schema, 'properties');
  for (const [key, child] of Object.entries(isJsonObject(properties) ? properties : {})) {
    if (!isJsonObject(child)) continue;
    const current = ownValue(args, key);
    const value = current === undefined ? copyJson(child['default']) : isJsonObject(current) ? withDefaults(current, child) : current;
    // `defineProperty` instead of an assignment, because a property may be called `__proto__`.
    if (value !== undefined) Object.defineProperty(filled, key, { value, writable: true, enumerable: true, configurable: true });
  }
  return filled;
}

const typeNames = new Set<unknown>(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']);

/**
 * Finds what can never work in a handwritten JSON Schema: a schema that does not compile validates nothing, and a strict backend rejects the whole
 * request for it. Undefined: no problem found.
 */
function findProblem(schema: JsonValue, root: JsonObject, path = ''): string | undefined {
  if (typeof schema === 'boolean') return undefined;
  if (!isJsonObject(schema)) return `${path} is not a schema, but ${Array.isArray(schema) ? 'a list' : typeof schema}`;
  const keywordProblem = problemOfKeywords(schema, root);
  if (keywordProblem !== undefined) return path === '' ? keywordProblem : `${path}: ${keywordProblem}`;
  for (const [step, child] of childrenOf(schema)) {
    const problem = findProblem(child, root, path === '' ? step : `${path}.${step}`);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function childrenOf(schema: JsonObject): [step: string, child: JsonValue][] {
  return Object.entries(schema).flatMap(([keyword, value]): [string, JsonValue][] => {
    const isList = schemaKeywords.has(keyword) && Array.isArray(value);
    if (isList || (schemaMaps.has(keyword) && isJsonObject(value)))
      return Object.entries(value as JsonObject).flatMap(([name, child]) => (child === undefined ? [] : [[`${keyword}.${name}`, child]]));
    return schemaKeywords.has(keyword) && value !== undefined ? [[keyword, value]] : [];
  });
}

function problemOfKeywords({ $ref: reference, type, properties, required, pattern }: JsonObject, root: JsonObject): string | undefined {
  if (reference !== undefined && !resolves(reference, root))
    return `$ref ${JSON.stringify(reference)} does not resolve; write "#/$defs/…" and put the schema under $defs`;
  const unknownType = [type ?? []].flat().find((name) => !typeNames.has(name));
  if (unknownType !== undefined) return `type ${JSON.stringify(unknownType)} is unknown; the types are ${[...typeNames].join(', ')}`;
  if (properties !== undefined && !isJsonObject(properties)) return 'properties must be an object that maps names to schemas';
  if (required !== undefined && !(Array.isArray(required) && required.every((name) => typeof name === 'string')))
    return 'required must be a list of property names, next to properties';
  return pattern === undefined || isPattern(pattern) ? undefined : `pattern ${JSON.stringify(pattern)} is not a regular expression`;
}

/** References must stay within the schema: a model cannot read another document. One by `$anchor` is not checked. */
function resolves(reference: JsonValue, root: JsonObject): boolean {
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
