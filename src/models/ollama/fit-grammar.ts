import { isContainer, isJsonObject, type JsonObject, type JsonValue } from '../../shared/json/json.ts';
import { choicesOf } from '../../shared/json-schema/keywords.ts';
import { findByPointer } from '../../shared/json-schema/pointer.ts';
import { grammarSize } from './grammar-size.ts';

/**
 * Ollama converts a `format` to a grammar in a buffer of 32 KiB (llama/llama.go, `SchemaToGrammar`; four times the size of the schema if that is
 * more, which is not safe to rely on). A longer grammar is truncated, cannot be parsed, and crashes the model's runner with all its running requests.
 */
const maxGrammarCharacters = 32_000;
/** The number of levels of properties and items at which reducing starts. */
const maxLevels = 12;
/** Callers may send any schema; longer ones are not tried at all. */
const maxSchemaCharacters = 512 * 1024;
/** Levels of nested unions in which equal branches are merged; each level traverses everything below it. */
const maxComparedUnions = 4;
/** For a schema with more values only the outermost levels are tried. */
const manyValues = 5_000;
const levelsOfMany = 2;
/** An object with more properties never fits. A union with as many branches may still fit once equal branches are merged. */
const maxProperties = 1_500;
const mostBranches = 5_000;
const definitionPlaces = ['$defs', 'definitions'] as const;

/**
 * Reduces a schema to what fits the grammar: inner objects and arrays become any object or array, the deepest first. Undefined if nothing of it fits.
 */
export function fitGrammar(schema: JsonObject): JsonObject | undefined {
  if (grammarSize(schema) <= maxGrammarCharacters) return schema;
  if (JSON.stringify(schema).length > maxSchemaCharacters) return undefined;
  const first = hasMoreValuesThan(schema, manyValues) ? levelsOfMany : maxLevels;
  for (let levels = first; levels > 0; levels -= 1) {
    const shallow = cutAll(schema, levels);
    if (grammarSize(shallow) <= maxGrammarCharacters) return shallow;
  }
  return undefined;
}

/** Cuts the schema to `levels` levels. Definitions stay, each cut to the same number of levels. */
function cutAll(root: JsonObject, levels: number): JsonObject {
  const place = { root, unions: 0 };
  const definitions = definitionPlaces.flatMap((word) => {
    const found = root[word];
    if (!isJsonObject(found)) return [];
    return [[word, Object.fromEntries(Object.entries(found).map(([name, entry]) => [name, cut(entry, levels, place)]))] as const];
  });
  return { ...cut(root, levels, place), ...Object.fromEntries(definitions) };
}

interface Place {
  root: JsonObject;
  /** Unions around it. */
  unions: number;
}

function cut(schema: JsonValue | undefined, levels: number, place: Place): JsonObject {
  if (!isJsonObject(schema)) return {};
  const { $ref: reference, properties, items, type } = schema;
  if (typeof reference === 'string')
    return levels > 0 && isToDefinition(reference) ? { $ref: reference } : typeOf(findByPointer(place.root, reference));
  const branches = choicesOf(schema);
  if (branches !== undefined) {
    if (branches.length > mostBranches) return {};
    const inner = branches.map((branch) => cut(branch, levels, { ...place, unions: place.unions + 1 }));
    return place.unions < maxComparedUnions ? mergeEqualBranches(inner) : { anyOf: inner };
  }
  if (!isJsonObject(properties) && !isJsonObject(items)) return schema;
  if (levels === 0 || hasMoreFieldsThan(properties, maxProperties))
    return { type: type ?? (isJsonObject(properties) ? 'object' : 'array') };
  if (isJsonObject(items)) return { ...schema, items: cut(items, levels - 1, place) };
  const inner = Object.entries(isJsonObject(properties) ? properties : {});
  return { ...schema, properties: Object.fromEntries(inner.map(([name, child]) => [name, cut(child, levels - 1, place)])) };
}

function hasMoreFieldsThan(object: JsonValue | undefined, most: number): boolean {
  let fields = 0;
  if (isJsonObject(object)) for (const _name in object) if (++fields > most) return true;
  return false;
}

function hasMoreValuesThan(value: JsonValue, most: number): boolean {
  let values = 0;
  const count = (one: JsonValue | undefined): void => {
    values += 1;
    if (!isContainer(one)) return;
    if (Array.isArray(one)) return void one.some((entry) => (count(entry), values > most));
    for (const key in one) {
      if (values > most) return;
      count(one[key]);
    }
  };
  count(value);
  return values > most;
}

/** Only definitions are never cut away, so only references to them stay valid. */
function isToDefinition(reference: string): boolean {
  return /^#\/(?:\$defs|definitions)\/[^/]+$/u.test(reference);
}

function typeOf(definition: JsonValue | undefined): JsonObject {
  const type = isJsonObject(definition) ? definition['type'] : undefined;
  return type === undefined ? {} : { type };
}

/** Merges branches that have become equal, because a grammar would spell out each of them. */
function mergeEqualBranches(branches: readonly JsonObject[]): JsonObject {
  const different = [...new Map(branches.map((branch) => [JSON.stringify(branch), branch])).values()];
  const [only] = different;
  return different.length === 1 && only !== undefined ? only : { anyOf: different };
}
