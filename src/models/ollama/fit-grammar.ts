import { isJsonObject } from '../../shared/json.ts';
import type { JsonObject, JsonValue } from '../../shared/json.ts';
import { findByPointer } from '../../shared/json-pointer.ts';
import { grammarSize } from './grammar-size.ts';

/**
 * Ollama writes the grammar of a `format` into 32 KiB (llama/llama.go, `SchemaToGrammar`: four times the schema if that is more, which nobody
 * should count on). One that is longer is cut, cannot be read, and brings the model's runner down with everything that it was answering.
 */
const maxGrammarCharacters = 32_000;
/** Levels of properties and items, from whole to none. */
const mostLevels = 12;
/** A caller may send any schema: a longer one is not tried at all. */
const maxSchemaCharacters = 512 * 1024;
/** Choices within choices that are compared with each other; each level goes through all below it. */
const comparedUnions = 4;
/** Of a schema with more values only the outermost levels are tried. */
const manyValues = 5_000;
const levelsOfMany = 2;
/** An object of more properties has room nowhere; of as many choices something may be left once the same ones are one. */
const mostProperties = 1_500;
const mostBranches = 5_000;
const definitionPlaces = ['$defs', 'definitions'] as const;

/**
 * The schema as far as the grammar has room for it: inner objects and lists become any object or list, the deepest first. Undefined when
 * nothing of it fits.
 */
export function fitGrammar(schema: JsonObject): JsonObject | undefined {
  if (grammarSize(schema) <= maxGrammarCharacters) return schema;
  if (JSON.stringify(schema).length > maxSchemaCharacters) return undefined;
  const first = hasMoreValuesThan(schema, manyValues) ? levelsOfMany : mostLevels;
  for (let levels = first; levels > 0; levels -= 1) {
    const shallow = cutAll(schema, levels);
    if (grammarSize(shallow) <= maxGrammarCharacters) return shallow;
  }
  return undefined;
}

/** Definitions stay, each with as many levels as the schema itself. */
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
  /** Choices around it. */
  unions: number;
}

function cut(schema: JsonValue | undefined, levels: number, place: Place): JsonObject {
  if (!isJsonObject(schema)) return {};
  const { $ref: reference, properties, items, anyOf, oneOf, type } = schema;
  if (typeof reference === 'string')
    return levels > 0 && isToDefinition(reference) ? { $ref: reference } : typeOf(findByPointer(place.root, reference));
  const branches = [anyOf, oneOf].find(Array.isArray);
  if (branches !== undefined) {
    if (branches.length > mostBranches) return {};
    const inner = branches.map((branch) => cut(branch, levels, { ...place, unions: place.unions + 1 }));
    return place.unions < comparedUnions ? oneOfThem(inner) : { anyOf: inner };
  }
  if (!isJsonObject(properties) && !isJsonObject(items)) return schema;
  if (levels === 0 || hasMoreFieldsThan(properties, mostProperties))
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
    if (typeof one !== 'object' || one === null) return;
    if (Array.isArray(one)) return void one.some((entry) => (count(entry), values > most));
    for (const key in one) {
      if (values > most) return;
      count(one[key]);
    }
  };
  count(value);
  return values > most;
}

/** Other places may be cut away. */
function isToDefinition(reference: string): boolean {
  return /^#\/(?:\$defs|definitions)\/[^/]+$/u.test(reference);
}

function typeOf(definition: JsonValue | undefined): JsonObject {
  const type = isJsonObject(definition) ? definition['type'] : undefined;
  return type === undefined ? {} : { type };
}

/** Choices that have become the same are one: a grammar would follow each of them. */
function oneOfThem(branches: readonly JsonObject[]): JsonObject {
  const different = [...new Map(branches.map((branch) => [JSON.stringify(branch), branch])).values()];
  const [only] = different;
  return different.length === 1 && only !== undefined ? only : { anyOf: different };
}
