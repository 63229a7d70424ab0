import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ErrorObject, ValidateFunction } from 'ajv/dist/2020.js';
import { RE2JS } from 're2js';
import type { JsonObject } from '../core/json.ts';

/** Compiled schemas are kept as long as the tool that owns them: its schema object is the key. */
const compiled = new WeakMap<JsonObject, ValidateFunction | 'unusable'>();

const shownErrors = 5;

/**
 * Schemas come from strangers' documents: a `pattern` written for backtracking could block the event loop for seconds,
 * so patterns run on an RE2 engine, which is linear; unknown keywords and formats are ignored instead of refused.
 */
const ajv = new Ajv2020({
  strict: false,
  allErrors: true,
  validateFormats: false,
  validateSchema: false,
  logger: false,
  code: { regExp: Object.assign(linearRegExp, { code: 'linearRegExp' }) },
});

/**
 * What is wrong with arguments, a sentence a field that a model can act on; empty when they fit.
 * A schema that cannot be compiled checks nothing: the tool server still does.
 */
export function argumentErrors(args: JsonObject, schema: JsonObject): string[] {
  const validate = validatorOf(schema);
  if (validate === 'unusable' || validate(args)) return [];
  return (validate.errors ?? []).slice(0, shownErrors).map(sentence);
}

function validatorOf(schema: JsonObject): ValidateFunction | 'unusable' {
  const known = compiled.get(schema);
  if (known !== undefined) return known;
  const validator = compile(schema);
  compiled.set(schema, validator);
  return validator;
}

function compile(schema: JsonObject): ValidateFunction | 'unusable' {
  try {
    // Ajv would keep schemas by `$id` and refuse the second one of that name.
    return ajv.compile(Object.fromEntries(Object.entries(schema).filter(([key]) => key !== '$id' && key !== '$schema')));
  } catch {
    return 'unusable';
  }
}

/** Patterns that RE2 does not know (look-around, back references) match everything. */
function linearRegExp(pattern: string): { test(text: string): boolean } {
  try {
    const expression = RE2JS.compile(pattern);
    return { test: (text) => expression.matcher(text).find() };
  } catch {
    return { test: () => true };
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
    case 'enum':
      return `${place}: must be one of ${JSON.stringify(params['allowedValues'])}`;
    case 'type':
      return `${place === '' ? 'arguments' : place}: must be ${String(params['type'])}`;
    default:
      return `${place === '' ? 'arguments' : place}: ${error.message ?? 'is invalid'}`;
  }
}

function join(place: string, key: string): string {
  return place === '' ? key : `${place}.${key}`;
}
