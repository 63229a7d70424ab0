import { z } from 'zod';
import { isJsonObject, ownValue } from '../../../shared/json.ts';
import type { JsonObject, JsonValue } from '../../../shared/json.ts';
import { problemOfSchema } from './check-json-schema.ts';
import type { FunctionTool, ReadArguments, ToolParameters } from './function-definition.ts';

const shownIssues = 5;

export type SchemaReading = { schema: JsonObject; readArguments: FunctionTool['readArguments'] };

/**
 * The one schema of a function: what a model reads, and how arguments become what `execute` gets. A zod schema is taken by what goes in,
 * so that what is optional or has a default is not required; it then fills in defaults, transforms and refines.
 * @throws Error with what is wrong and the cure
 */
export function readSchema(parameters: ToolParameters): SchemaReading {
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

const plainKeywords = new Set([
  'properties',
  'required',
  'description',
  'title',
  '$schema',
  '$defs',
  'definitions',
  'additionalProperties',
]);

/** The keywords reach the model and the check unchanged. */
function readJsonSchema(parameters: JsonObject): SchemaReading {
  const problem = problemOfSchema(parameters);
  if (problem !== undefined) throw new Error(problem);
  const own = structuredClone(parameters);
  // Without a type it is read as it is meant, where it says nothing else.
  const isPlain = Object.keys(own).every((key) => plainKeywords.has(key));
  const copy = requireObject(isPlain ? { type: 'object', ...own } : own);
  const hasDefaults = JSON.stringify(copy).includes('"default"');
  return { schema: copy, readArguments: (args) => ({ type: 'read', value: hasDefaults ? withDefaults(args, copy) : args }) };
}

/** Of properties, also within objects that are there; a default beside a reference or a choice is left to the function. */
function withDefaults(args: JsonObject, schema: JsonObject): JsonObject {
  const properties = ownValue(schema, 'properties');
  if (!isJsonObject(properties)) return args;
  const filled: [string, JsonValue | undefined][] = Object.entries(properties).flatMap(
    ([key, child]): [string, JsonValue | undefined][] => {
      if (!isJsonObject(child)) return [];
      const given = ownValue(args, key);
      if (given === undefined) return child['default'] === undefined ? [] : [[key, structuredClone(child['default'])]];
      return [[key, isJsonObject(given) ? withDefaults(given, child) : given]];
    },
  );
  return { ...args, ...Object.fromEntries(filled) };
}
