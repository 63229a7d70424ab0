import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ErrorObject } from 'ajv/dist/2020.js';
import { RE2JS } from 're2js';
import { isJsonObject } from '../shared/json.ts';
import type { JsonObject, JsonValue } from '../shared/json.ts';

/** What is wrong with a value, a sentence a field that a model can act on; empty when it fits. May throw where a schema leads in a circle. */
export type FindErrors = (value: JsonValue) => string[];

const shownErrors = 5;
/** Longer patterns, and longer texts against any pattern, are not checked: RE2 is linear, but its factor grows with the pattern. */
export const patternCharacters = 500;
export const testedCharacters = 10_000;

/**
 * Schemas come from strangers' documents. Each has a compiler of its own: a shared one keeps every schema for ever, and lets the `$id` of one
 * and the patterns of another meet. Unknown keywords and formats are ignored instead of refused. Undefined for a
 * schema that cannot be compiled.
 */
export function compileSchema(schema: JsonObject): FindErrors | undefined {
  try {
    const ajv = new Ajv2020({
      strict: false,
      allErrors: true,
      // What an object inherits (`toString`, `constructor`) is no property of it: else an argument of that name could not be left out.
      ownProperties: true,
      validateFormats: false,
      validateSchema: false,
      logger: false,
      // Definitions that are referred to again and again would be written out each time, and the optimizer reads all code once a name.
      inlineRefs: false,
      code: { optimize: false, regExp: Object.assign(linearRegExp, { code: 'linearRegExp' }) },
    });
    const validate = ajv.compile(withoutMachinery(schema) as JsonObject);
    return (value) => {
      const isValid: unknown = validate(value);
      return isValid === true ? [] : (validate.errors ?? []).slice(0, shownErrors).map(sentence);
    };
  } catch {
    return undefined;
  }
}

/** `$async` would make validation a promise that nobody awaits; `$id` and its kin would rename what references point at. */
const machinery: ReadonlySet<string> = new Set([
  '$async',
  '$id',
  '$schema',
  '$anchor',
  '$dynamicAnchor',
  '$dynamicRef',
  '$recursiveAnchor',
  '$recursiveRef',
  '$vocabulary',
  'id',
]);

/** The value without such keywords, where a schema may stand; below `properties` and `$defs` keys are names and stay. */
function withoutMachinery(value: JsonValue, isNames = false): JsonValue {
  if (Array.isArray(value)) return value.map((entry) => withoutMachinery(entry));
  if (!isJsonObject(value)) return value;
  const kept = Object.entries(value).flatMap(([key, child]): [string, JsonValue][] => {
    if (child === undefined || (!isNames && machinery.has(key))) return [];
    if (!isNames && (key === 'enum' || key === 'const' || key === 'default')) return [[key, child]];
    return [[key, withoutMachinery(child, !isNames && namedSchemas.has(key))]];
  });
  return Object.fromEntries(kept);
}
const namedSchemas: ReadonlySet<string> = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);

/**
 * A `pattern` written for backtracking could block the event loop for seconds, so patterns run on RE2. Those it does not know (look-around,
 * back references) match everything. Ajv tells patterns apart by `toString`.
 */
function linearRegExp(pattern: string): { test(text: string): boolean; toString(): string } {
  const expression = pattern.length > patternCharacters ? undefined : compilePattern(pattern);
  return {
    test: (text) => expression === undefined || text.length > testedCharacters || expression.matcher(text).find(),
    toString: () => pattern,
  };
}

function compilePattern(pattern: string): RE2JS | undefined {
  try {
    return RE2JS.compile(pattern);
  } catch {
    return undefined;
  }
}

function sentence(error: ErrorObject): string {
  const place = error.instancePath.slice(1).replaceAll('/', '.');
  const params = error.params as Record<string, unknown>;
  switch (error.keyword) {
    case 'required':
      return `${join(place, String(params['missingProperty']))}: is required`;
    case 'additionalProperties':
      return `${join(place, String(params['additionalProperty']))}: is not an argument of this function`;
    case 'const':
      return `${place}: must be ${JSON.stringify(params['allowedValue']).slice(0, 1_000)}`;
    case 'enum':
      return `${place}: must be one of ${JSON.stringify(params['allowedValues']).slice(0, 1_000)}`;
    case 'type':
      return `${place === '' ? 'arguments' : place}: must be ${String(params['type'])}`;
    default:
      return `${place === '' ? 'arguments' : place}: ${error.message ?? 'is invalid'}`;
  }
}

function join(place: string, key: string): string {
  return place === '' ? key : `${place}.${key}`;
}
