import type { SchemaValidateFunction } from 'ajv';
import { _, Ajv2020, str, type CodeKeywordDefinition, type ErrorObject, type KeywordCxt } from 'ajv/dist/2020.js';
import { RE2JS } from 're2js';
import { isJsonObject, type JsonObject, type JsonValue } from '../shared/json/json.ts';
import { checkExactly, exactKeywords, findExactFault, hasExactNumber, toCheckedValue, withNearestNumbers } from './exact-values.ts';
import { schemaMaps } from '../shared/json-schema/keywords.ts';
import { isMultipleOf } from '../shared/json/exact-number.ts';
import { countSteps, StepCounter, stepsOf } from './count-steps.ts';

/**
 * Returns one sentence for each invalid field, which a model can act on; empty if the value is valid.
 * @param maxSteps as `StepCounter` counts them; default: any number
 * @throws OutOfSteps when the check takes more; a RangeError for a schema that leads back to itself without an end
 */
export type FindErrors = (value: JsonValue, maxSteps?: number) => string[];

const shownErrors = 5;
/** Longer patterns, and longer texts against any pattern, are not checked: RE2 is linear, but its factor grows with the pattern. */
const patternCharacters = 500;
const testedCharacters = 10_000;

/**
 * Compiles a schema, with its own Ajv instance: a shared one would keep every schema for ever, and mix up their `$id`s and patterns. Unknown
 * keywords and formats are ignored. Undefined for a schema that cannot be compiled.
 */
export function compileSchema(schema: JsonObject): FindErrors | undefined {
  try {
    const kept = withoutRemovedKeywords(schema) as JsonObject;
    const isExact = hasExactNumber(kept);
    const findInexactly = isExact ? undefined : findErrorsBy(createAjv(), kept);
    // What compiling a schema costs shows only if it is compiled now.
    let findExactly = isExact ? findErrorsExactly(kept) : undefined;
    return (value, maxSteps) => {
      if (findInexactly !== undefined && !hasExactNumber(value)) return findInexactly(value, maxSteps);
      findExactly ??= findErrorsExactly(kept);
      return findExactly(value, maxSteps);
    };
  } catch {
    return undefined;
  }
}

interface CountingAjv {
  ajv: Ajv2020;
  counter: StepCounter;
}

function findErrorsBy({ ajv, counter }: CountingAjv, schema: JsonObject): FindErrors {
  countSteps(ajv, counter);
  const validate = ajv.compile(schema);
  return (value, maxSteps = Number.POSITIVE_INFINITY) => {
    counter.allow(maxSteps);
    const isValid: unknown = validate(value);
    return isValid === true ? [] : (validate.errors ?? []).slice(0, shownErrors).map(sentence);
  };
}

/** Where the value or the schema has an `ExactNumber`. */
function findErrorsExactly(schema: JsonObject): FindErrors {
  const exact = createAjv();
  compareExactly(exact);
  const findErrors = findErrorsBy(exact, withNearestNumbers(schema) as JsonObject);
  return (value, maxSteps) => checkExactly(toCheckedValue(value), (checked) => findErrors(checked, maxSteps));
}

/** Slower than Ajv's own keywords. */
function compareExactly({ ajv, counter }: CountingAjv): void {
  for (const keyword of exactKeywords) {
    const validate: SchemaValidateFunction = (...[stated, value, , context]: Parameters<SchemaValidateFunction>) => {
      counter.take(stepsOf(stated as JsonValue));
      if (keyword === 'uniqueItems') counter.takePairs(value);
      const place = { value: value as JsonValue, parent: context?.parentData, property: context?.parentDataProperty };
      const fault = findExactFault(keyword, stated as JsonValue, place);
      if (fault !== undefined) validate.errors = [{ keyword, ...fault }];
      return fault === undefined;
    };
    ajv.removeKeyword(keyword).addKeyword({ keyword, validate, errors: true });
  }
}

function createAjv(): CountingAjv {
  const counter = new StepCounter();
  const ajv = new Ajv2020({
    strict: false,
    allErrors: true,
    // Ignore inherited properties (`toString`, `constructor`): otherwise an optional argument of such a name would always count as present.
    ownProperties: true,
    validateFormats: false,
    validateSchema: false,
    logger: false,
    // Inlining would repeat definitions for each reference, and the optimizer traverses all code once per name.
    inlineRefs: false,
    code: { optimize: false, regExp: Object.assign((pattern: string) => linearRegExp(pattern, counter), { code: 'linearRegExp' }) },
  });
  ajv.removeKeyword(multipleOf.keyword).addKeyword(multipleOf);
  return { ajv, counter };
}

/** Ajv divides in binary, in which 19.99 is no multiple of 0.01. */
const multipleOf = {
  keyword: 'multipleOf',
  type: 'number',
  schemaType: 'number',
  error: {
    message: ({ schemaCode }) => str`must be multiple of ${schemaCode}`,
    params: ({ schemaCode }) => _`{multipleOf: ${schemaCode}}`,
  },
  code(context: KeywordCxt) {
    const isMultiple = context.gen.scopeValue('keyword', { ref: isDecimalMultiple });
    context.fail(_`!${isMultiple}(${context.data}, ${context.schemaCode})`);
  },
} satisfies CodeKeywordDefinition;

function isDecimalMultiple(value: number, factor: number): boolean {
  const areWhole = Number.isSafeInteger(value) && Number.isSafeInteger(factor) && factor !== 0;
  return areWhole ? value % factor === 0 : isMultipleOf(value, factor);
}

/** Keywords that are removed: `$async` would make validation return a promise, `$id` and the like would change the targets of references. */
const removedKeywords: ReadonlySet<string> = new Set([
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

/**
 * Removes these keywords from all subschemas. Keys below `properties`, `$defs` and the like are names and stay. An object that is closed beside its parts
 * is closed around them: by the letter it would refuse each member that a part declares, so that many a function could not be called at all.
 */
function withoutRemovedKeywords(value: JsonValue, isNames = false): JsonValue {
  if (Array.isArray(value)) return value.map((entry) => withoutRemovedKeywords(entry));
  if (!isJsonObject(value)) return value;
  const isClosedBesideParts = !isNames && value['additionalProperties'] === false && ('allOf' in value || '$ref' in value);
  const kept = Object.entries(value).flatMap(([key, child]): [string, JsonValue][] => {
    if (key === 'additionalProperties' && isClosedBesideParts) return [['unevaluatedProperties', false]];
    if (child === undefined || (!isNames && removedKeywords.has(key))) return [];
    if (!isNames && (key === 'enum' || key === 'const' || key === 'default')) return [[key, child]];
    return [[key, withoutRemovedKeywords(child, !isNames && schemaMaps.has(key))]];
  });
  return Object.fromEntries(kept);
}

/**
 * Patterns run on RE2, because backtracking could block the event loop for seconds. Patterns that RE2 does not support (look-around, back references)
 * match everything. Ajv identifies patterns by `toString`.
 */
function linearRegExp(pattern: string, counter: StepCounter): { test(text: string): boolean; toString(): string } {
  const expression = pattern.length > patternCharacters ? undefined : compilePattern(pattern);
  const stepsPerCharacter = expression === undefined ? 0 : (expression.programSize() + 16) / 4;
  return {
    test(text) {
      if (expression === undefined || text.length > testedCharacters) return true;
      counter.take((text.length + 1) * stepsPerCharacter);
      return expression.matcher(text).find();
    },
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
  const path = error.instancePath.slice(1).replaceAll('/', '.');
  const params = error.params as Record<string, unknown>;
  switch (error.keyword) {
    case 'required':
      return `${join(path, String(params['missingProperty']))}: is required`;
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return `${join(path, String(params['additionalProperty'] ?? params['unevaluatedProperty']))}: is not an argument of this function`;
    case 'const':
      return `${path}: must be ${JSON.stringify(params['allowedValue']).slice(0, 1_000)}`;
    case 'enum':
      return `${path}: must be one of ${JSON.stringify(params['allowedValues']).slice(0, 1_000)}`;
    case 'type':
      return `${path === '' ? 'arguments' : path}: must be ${String(params['type'])}`;
    default:
      return `${path === '' ? 'arguments' : path}: ${error.message ?? 'is invalid'}`;
  }
}

function join(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}
