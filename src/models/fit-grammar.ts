import { isJsonObject } from '../core/json.ts';
import type { JsonObject, JsonValue } from '../core/json.ts';
import { grammarSize, meantBy } from './grammar-size.ts';

/**
 * Ollama writes the grammar of a `format` into 32 KiB (llama/llama.go, `SchemaToGrammar`: four times the schema if that is more, which nobody
 * should count on). One that is longer is cut, cannot be read, and brings the model's runner down with everything that it was answering.
 */
const maxGrammarCharacters = 32_000;
/** Levels of properties and items, from whole to none. */
const mostLevels = 12;
/** A caller may send any schema: a longer one is not tried at all. */
const maxSchemaCharacters = 512 * 1024;
const definitionPlaces = ['$defs', 'definitions'] as const;

/**
 * The schema as far as the grammar has room for it: inner objects and lists become any object or list, the deepest first. Undefined when
 * nothing of it fits.
 */
export function fitGrammar(schema: JsonObject): JsonObject | undefined {
  if (grammarSize(schema) <= maxGrammarCharacters) return schema;
  if (JSON.stringify(schema).length > maxSchemaCharacters) return undefined;
  for (let levels = mostLevels; levels > 0; levels -= 1) {
    const shallow = cutAll(schema, levels);
    if (grammarSize(shallow) <= maxGrammarCharacters) return shallow;
  }
  return undefined;
}

/** Definitions stay, each with as many levels as the schema itself. */
function cutAll(root: JsonObject, levels: number): JsonObject {
  const definitions = definitionPlaces.flatMap((place) => {
    const found = root[place];
    if (!isJsonObject(found)) return [];
    return [[place, Object.fromEntries(Object.entries(found).map(([name, entry]) => [name, cut(entry, levels, root)]))] as const];
  });
  return { ...cut(root, levels, root), ...Object.fromEntries(definitions) };
}

function cut(schema: JsonValue | undefined, levels: number, root: JsonObject): JsonObject {
  if (!isJsonObject(schema)) return {};
  const { $ref: reference, properties, items, anyOf, oneOf, type } = schema;
  if (typeof reference === 'string')
    return levels > 0 && isToDefinition(reference) ? { $ref: reference } : typeOf(meantBy(reference, root));
  const branches = [anyOf, oneOf].find(Array.isArray);
  if (branches !== undefined) return oneOfThem(branches.map((branch) => cut(branch, levels, root)));
  if (!isJsonObject(properties) && !isJsonObject(items)) return schema;
  if (levels === 0) return { type: type ?? (isJsonObject(properties) ? 'object' : 'array') };
  if (isJsonObject(items)) return { ...schema, items: cut(items, levels - 1, root) };
  const inner = Object.entries(isJsonObject(properties) ? properties : {});
  return { ...schema, properties: Object.fromEntries(inner.map(([name, child]) => [name, cut(child, levels - 1, root)])) };
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
