import { isJsonObject } from '../core/json.ts';
import type { JsonObject, JsonValue } from '../core/json.ts';

/**
 * Ollama writes the grammar of a `format` into 32 KiB (llama/llama.go, `SchemaToGrammar`: four times the schema if that is more, which nobody
 * should count on). One that is longer is cut, cannot be read, and brings the model's runner down with everything that it was answering.
 */
const maxGrammarCharacters = 32_000;
/** The rules that every grammar may have: strings, numbers, white space, any value. */
const sharedRules = 1_600;
/** Levels of properties and items, from whole to none. */
const mostLevels = 12;

/** What a rule is called by and how long it is with the rules below it, in characters. */
interface Rule {
  reference: number;
  size: number;
}

/**
 * The schema as far as the grammar has room for it: inner objects and lists become any object or list, the deepest first. Undefined when
 * nothing of it fits.
 */
export function fitGrammar(schema: JsonObject): JsonObject | undefined {
  if (grammarSize(schema) <= maxGrammarCharacters) return schema;
  for (let levels = mostLevels; levels > 0; levels -= 1) {
    const shallow = cut(schema, levels);
    if (grammarSize(shallow) <= maxGrammarCharacters) return shallow;
  }
  return undefined;
}

/** About how long llama.cpp's grammar for a schema is (common/json-schema-to-grammar.cpp); measured against it: never shorter, seldom much longer. */
export function grammarSize(schema: JsonObject): number {
  return sharedRules + ruleOf(schema, 0).size;
}

function cut(schema: JsonValue | undefined, levels: number): JsonObject {
  if (!isJsonObject(schema)) return {};
  const { properties, items, anyOf, oneOf, type } = schema;
  const branches = [anyOf, oneOf].find(Array.isArray);
  if (branches !== undefined) return oneOfThem(branches.map((branch) => cut(branch, levels)));
  if (!isJsonObject(properties) && !isJsonObject(items)) return schema;
  if (levels === 0) return { type: type ?? (isJsonObject(properties) ? 'object' : 'array') };
  if (isJsonObject(items)) return { ...schema, items: cut(items, levels - 1) };
  const inner = Object.entries(isJsonObject(properties) ? properties : {}).map(([name, child]) => [name, cut(child, levels - 1)] as const);
  return { ...schema, properties: Object.fromEntries(inner) };
}

/** Choices that have become the same are one: a grammar would follow each of them. */
function oneOfThem(branches: readonly JsonObject[]): JsonObject {
  const different = [...new Map(branches.map((branch) => [JSON.stringify(branch), branch])).values()];
  const [only] = different;
  return different.length === 1 && only !== undefined ? only : { anyOf: different };
}

/** `name`: the length of the rule's name, which grows with every level. */
function ruleOf(schema: JsonValue | undefined, name: number): Rule {
  if (!isJsonObject(schema)) return { reference: 6, size: 0 };
  const { type, properties, items, enum: list, const: fixed, anyOf, oneOf } = schema;
  const branches = [anyOf, oneOf].find(Array.isArray);
  if (branches !== undefined) return unionOf(branches, name);
  if (Array.isArray(type))
    return unionOf(
      type.map((one) => ({ ...schema, type: one })),
      name,
    );
  if (fixed !== undefined) return choiceOf([fixed], name);
  if (Array.isArray(list)) return choiceOf(list, name);
  if (isJsonObject(properties)) return objectOf(schema, properties, name);
  if (items === undefined) return { reference: 8, size: 0 };
  const item = ruleOf(items, name + 5);
  return { reference: name, size: named(name, 2 * item.reference + 60) + item.size };
}

function named(name: number, body: number): number {
  return name + body + 8;
}

function unionOf(branches: readonly JsonValue[], name: number): Rule {
  const rules = branches.map((branch, index) => ruleOf(branch, name + String(index).length + (name === 0 ? 12 : 1)));
  return { reference: name, size: named(name, sum(rules.map(({ reference }) => reference + 3))) + sum(rules.map(({ size }) => size)) };
}

function choiceOf(list: readonly JsonValue[], name: number): Rule {
  return { reference: name, size: named(name, sum(list.map((value) => literal(value) + 3)) + 10) };
}

/** Each property has a rule with its key; an optional one also a rule for whatever optional ones may follow it. */
function objectOf(schema: JsonObject, properties: JsonObject, name: number): Rule {
  const required = new Set(Array.isArray(schema['required']) ? schema['required'] : []);
  let size = named(name, 40);
  for (const [key, child] of Object.entries(properties)) {
    const inner = name + 1 + Buffer.byteLength(key);
    const rule = ruleOf(child, inner);
    const pair = inner + 3;
    size += rule.size + named(pair, literal(key) + 22 + rule.reference) + pair + 14;
    if (!required.has(key)) size += named(inner + 5, pair + 18 + inner + 5) + inner + 10;
  }
  // An open object spells out every key that is not one of its own, letter by letter.
  const isOpen = schema['additionalProperties'] === true || isJsonObject(schema['additionalProperties']);
  if (isOpen)
    size += 4 * (name + 20) + 120 + prefixesOf(Object.keys(properties)) * 24 + ruleOf(schema['additionalProperties'], name + 17).size;
  return { reference: name, size };
}

/** How many beginnings the words have, shared ones once. */
function prefixesOf(words: readonly string[]): number {
  const prefixes = new Set<string>();
  for (const word of words) for (let end = 1; end <= word.length; end += 1) prefixes.add(word.slice(0, end));
  return prefixes.size;
}

/** A value as a quoted word of the grammar. */
function literal(value: JsonValue): number {
  return JSON.stringify(JSON.stringify(value)).length;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
