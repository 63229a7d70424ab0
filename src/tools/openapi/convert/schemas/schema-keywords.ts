import { isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../../../shared/json/json.ts';
import { alignValues } from './align-values.ts';
import { descriptionCharacters, firstSentences, hasWords, plainText, shortened } from '../../../definitions/plain-text.ts';
import { isNumber } from '../../../../shared/json/exact-number.ts';

export { descriptionCharacters, hasWords, shortened };

/** The description of one of many properties: more is no help to a model, and is sent with every model request. */
const partCharacters = 300;
/** More choices than these would fill a model's context with one argument; the largest real list that was measured is much shorter. */
export const maxChoices = 1_000;
const choicesNote = /\(One of \d+ values, too many to list\.\)$/;

const types = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']);
const texts = ['format', 'pattern', 'contentEncoding', 'contentMediaType'];
/** A generator's long pattern beside such a format repeats it in a hundred tokens; a short one is an author's, and says more. */
const shortPattern = 40;
const plainFormats = new Set(['uuid', 'date-time', 'date', 'time', 'duration', 'email', 'ipv4', 'ipv6', 'uri', 'url', 'hostname']);
/** How a number is stored: no help to a model that knows the type and the bounds. */
const numberFormat = /^(?:u?int(?:8|16|32|64)?|float(?:16|32|64)?|double|long|integer|number|decimal)$/i;
const numberTypes: ReadonlySet<unknown> = new Set(['integer', 'number', 'null']);
/** The ends of number types; a generator writes them where there is no bound. */
const typeBounds = new Set([2 ** 31, 2 ** 31 - 1, 2 ** 32 - 1, Number.MAX_SAFE_INTEGER, 2 ** 63, 2 ** 64]);
const numbers = ['multipleOf', 'minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'];

/**
 * The keywords of JSON Schema that hold no other schema, as a JSON Schema of 2020-12 has them. Titles, examples and everything that is
 * OpenAPI's own (`discriminator`, `xml`, `externalDocs`, `deprecated`, …) costs tokens and is left out.
 */
export function plainKeywords(schema: JsonObject): JsonObject {
  const kept: JsonObject = {};
  const type = knownTypes(ownValue(schema, 'type'));
  if (type !== undefined) kept['type'] = type;
  const description = ownValue(schema, 'description');
  if (hasWords(description)) kept['description'] = firstSentences(plainText(description), partCharacters);
  keepChoices(listOf(schema, 'enum'), kept);
  for (const key of ['const', 'default']) if (ownValue(schema, key) !== undefined) kept[key] = schema[key];
  for (const key of texts) if (typeof ownValue(schema, key) === 'string') kept[key] = schema[key];
  const { format, pattern } = kept;
  if (typeof format === 'string' && plainFormats.has(format) && typeof pattern === 'string' && pattern.length > shortPattern)
    delete kept['pattern'];
  if (typeof format === 'string' && numberFormat.test(format) && [kept['type']].flat().every((type) => numberTypes.has(type)))
    delete kept['format'];
  if (kept['default'] === null) delete kept['default'];
  for (const key of numbers) if (isNumber(ownValue(schema, key))) kept[key] = schema[key];
  if (schema['uniqueItems'] === true) kept['uniqueItems'] = true;
  keepBound(schema, kept, { bound: 'minimum', exclusive: 'exclusiveMinimum' });
  keepBound(schema, kept, { bound: 'maximum', exclusive: 'exclusiveMaximum' });
  return kept;
}

/** If there are too many choices, only their number is given; their type is that of the first ones. */
function keepChoices(choices: JsonValue[], kept: JsonObject): void {
  if (choices.length === 0) return;
  if (choices.length <= maxChoices) {
    kept['enum'] = choices;
    return;
  }
  if (kept['type'] === undefined && choices.slice(0, maxChoices).every((choice) => typeof choice === 'string')) kept['type'] = 'string';
  kept['description'] = keepChoicesNote(kept['description'] ?? '', `(One of ${choices.length} values, too many to list.)`);
}

/** The description, with the other description's note about choices that were left out. */
export function keepChoicesNote(words: JsonValue, others: JsonValue | undefined): JsonValue {
  const note = typeof others === 'string' ? choicesNote.exec(others)?.[0] : undefined;
  if (note === undefined || typeof words !== 'string' || choicesNote.test(words)) return words;
  return `${shortened(words, descriptionCharacters - note.length - 1)} ${note}`.trim();
}

/** The schema with the description of what contains it, which replaces its own. */
export function describedAs(schema: JsonObject, words: string): JsonObject {
  return { ...schema, description: keepChoicesNote(firstSentences(plainText(words)), schema['description']) };
}

/** Until OpenAPI 3.0 `exclusiveMinimum` was a boolean beside `minimum`, since 3.1 it is the bound itself. */
function keepBound(schema: JsonObject, kept: JsonObject, { bound, exclusive }: { bound: string; exclusive: string }): void {
  const limit = ownValue(schema, bound);
  const other = ownValue(schema, exclusive);
  if (isNumber(other)) kept[exclusive] = other;
  if (!isNumber(limit) || typeBounds.has(Math.abs(Number(limit)))) return;
  kept[other === true ? exclusive : bound] = limit;
}

/** `file` is Swagger 2.0's word for uploads and downloads; types that JSON Schema does not know say nothing. */
function knownTypes(type: JsonValue | undefined): JsonValue | undefined {
  if (type === 'file') return 'string';
  if (typeof type === 'string') return types.has(type) ? type : undefined;
  if (!Array.isArray(type)) return undefined;
  const known = [...new Set(type.filter((entry) => typeof entry === 'string' && types.has(entry)))];
  return known.length > 1 ? known : known[0];
}

/** `nullable` is OpenAPI 3.0's word, `x-nullable` a custom of Swagger 2.0. */
export function isNullable(schema: JsonObject): boolean {
  return schema['nullable'] === true || schema['x-nullable'] === true;
}

/** The schema that accepts null as well. */
export function withNull(schema: JsonObject): JsonObject {
  const wrapped = ['$ref', 'allOf', 'not', 'if'].some((key) => schema[key] !== undefined);
  if (wrapped) {
    const { description, ...rest } = schema;
    return { ...(description === undefined ? {} : { description }), anyOf: [rest, { type: 'null' }] };
  }
  const result = { ...schema };
  const stated = typeof schema['type'] === 'string' ? [schema['type']] : schema['type'];
  if (Array.isArray(stated) && !stated.includes('null')) result['type'] = [...stated, 'null'];
  if (Array.isArray(schema['enum']) && !schema['enum'].includes(null)) result['enum'] = [...schema['enum'], null];
  if (schema['const'] !== undefined && schema['const'] !== null) {
    delete result['const'];
    result['enum'] = [schema['const'], null];
  }
  if (Array.isArray(schema['anyOf']) && !schema['anyOf'].some(allowsNull)) result['anyOf'] = [...schema['anyOf'], { type: 'null' }];
  return result;
}

/** Turns a choice between a schema and null into the schema that accepts null, if that needs only one more type and no `anyOf`. */
export function nullableChoice(choices: readonly JsonObject[]): JsonObject | undefined {
  const [other, another] = choices.filter((choice) => choice['type'] !== 'null');
  if (choices.length !== 2 || other === undefined || another !== undefined) return undefined;
  return other['type'] !== undefined && other['anyOf'] === undefined ? withNull(other) : undefined;
}

/** A choice that is nothing but a choice itself (a union that may be null) adds its own to the list. */
export function choicesOf(branch: JsonObject): JsonObject[] {
  const inner = branch['anyOf'];
  return Object.keys(branch).length === 1 && Array.isArray(inner) && inner.every(isJsonObject) ? inner : [branch];
}

/** Whether a schema says outright that null is a value. */
export function allowsNull(schema: JsonValue | undefined): boolean {
  if (!isJsonObject(schema)) return false;
  if (schema['type'] === 'null' || schema['const'] === null) return true;
  if (Array.isArray(schema['type'])) return schema['type'].includes('null');
  if (Array.isArray(schema['enum'])) return schema['enum'].includes(null);
  return Array.isArray(schema['anyOf']) && schema['anyOf'].some(allowsNull);
}

/**
 * Adds what the schema implies, because providers insist on it: the type of what has properties, items or choices, and items for
 * every array. Brings values to the stated type, and drops a null default that its own type refuses.
 */
export function completed(schema: JsonObject): JsonObject {
  const result = { ...alignValues(schema) };
  result['type'] ??= impliedType(result);
  if (result['type'] === undefined) delete result['type'];
  const stated = Array.isArray(result['type']) ? result['type'] : [result['type']];
  if (stated.includes('array') && result['items'] === undefined && result['prefixItems'] === undefined) result['items'] = {};
  if (result['default'] === null && result['type'] !== undefined && !stated.includes('null')) delete result['default'];
  return result;
}

/**
 * Without required properties that are not described: a read-only one that was left out, or an author's mistake. For whole schemas only:
 * a branch of an `allOf` may well require what another branch describes.
 */
export function withoutUnknownRequired(schema: JsonObject): JsonObject {
  const { required, ...rest } = schema;
  const isComposed = ['allOf', 'anyOf', 'not', 'if', 'patternProperties'].some((key) => schema[key] !== undefined);
  const { properties } = schema;
  if (!Array.isArray(required) || !isJsonObject(properties) || isComposed) return schema;
  const known = required.filter((name) => typeof name === 'string' && Object.hasOwn(properties, name));
  if (known.length === required.length) return schema;
  return known.length === 0 ? rest : { ...rest, required: known };
}

function impliedType(schema: JsonObject): string | undefined {
  if (isJsonObject(schema['properties'])) return 'object';
  if (schema['items'] !== undefined || schema['prefixItems'] !== undefined) return 'array';
  const choices = Array.isArray(schema['enum']) ? schema['enum'] : [];
  return choices.length > 0 && choices.every((choice) => typeof choice === 'string') ? 'string' : undefined;
}

/** The list under a keyword; empty when there is none. */
export function listOf(schema: JsonObject, key: string): JsonValue[] {
  const value = ownValue(schema, key);
  return Array.isArray(value) ? value : [];
}
