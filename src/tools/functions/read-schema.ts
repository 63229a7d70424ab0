import { z } from 'zod';
import { isJsonObject, ownValue } from '../../core/json.ts';
import type { JsonObject, JsonValue } from '../../core/json.ts';
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
    } = z.toJSONSchema(schema, { io: 'input', override: withoutEmptyBounds }) as JsonObject;
    return rest;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`${reason}; use what JSON can hold, such as z.iso.datetime() instead of z.date(), or write JSON Schema`, {
      cause: error,
    });
  }
}

/** `z.int()` states the bounds of what JavaScript can count; a model learns nothing from them. */
function withoutEmptyBounds({ jsonSchema }: { jsonSchema: { minimum?: number; maximum?: number } }): void {
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
}

/** By its form: a folder may have a zod of its own. Older ones have another form, and no JSON Schema. */
function isZodSchema(value: ToolParameters): value is z.ZodType {
  if ('_zod' in value) return true;
  if ('_def' in value) throw new Error('this is a schema of zod 3; import z from "zod", which is version 4 here');
  return false;
}

function requireObject(schema: JsonObject): JsonObject {
  if (schema['type'] === 'object') return { ...schema, properties: isJsonObject(schema['properties']) ? schema['properties'] : {} };
  throw new Error('the root is no object; write z.object({ … }), or {"type": "object", "properties": { … }}');
}

async function readByZod(schema: z.ZodType, args: JsonObject): Promise<ReadArguments> {
  const read = await schema.safeParseAsync(args);
  if (read.success) return { type: 'read', value: read.data };
  const sentences = read.error.issues.slice(0, shownIssues).map(({ path, message }) => {
    return path.length === 0 ? message : `${path.map(String).join('.')}: ${message}`;
  });
  return { type: 'invalid', message: sentences.join('; ') };
}

/** The keywords reach the model and the check unchanged. */
function readJsonSchema(parameters: JsonObject): SchemaReading {
  const copy = requireObject(structuredClone(parameters));
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
