import { findByPointer } from '../../shared/json-schema/pointer.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../shared/json/json.ts';
import { choicesOf } from '../../shared/json-schema/keywords.ts';
import { maxHops } from '../../shared/json-schema/resolve.ts';

/** Characters of the rules that every grammar may contain: strings, numbers, white space, any value. */
const sharedRuleCharacters = 1_600;
/** The minimum characters of a counted part. */
const minPartCharacters = 10;
/** The most parts that are counted; a schema with more never fits. */
const maxParts = 10_000;
/** Only this many leading characters of keys are compared. */
const maxComparedCharacters = 256;
/** Characters of the rule for a number with two bounds, which is spelled out digit by digit. */
const boundedNumberCharacters = 1_200;

/** The length in characters of a reference to a rule, and of the rule with all rules below it. */
interface Rule {
  reference: number;
  size: number;
}

interface Counting {
  root: JsonObject;
  /** References whose rules have been counted. */
  known: Set<string>;
  left: number;
  hops: number;
}

/**
 * Estimates the length of llama.cpp's grammar for a schema (common/json-schema-to-grammar.cpp). Measured against it: never too short, seldom much too
 * long. Referenced schemas count once. Infinite if the schema is too large to be counted.
 */
export function grammarSize(schema: JsonObject): number {
  return sharedRuleCharacters + ruleOf(schema, 0, { root: schema, known: new Set(), left: maxParts, hops: 0 }).size;
}

/** `name`: the length of the rule's name, which grows with every level. */
function ruleOf(schema: JsonValue | undefined, name: number, counting: Counting): Rule {
  if (!isJsonObject(schema)) return { reference: 6, size: 0 };
  counting.left -= 1;
  if (counting.left < 0) return { reference: name, size: Infinity };
  const { $ref: reference, type, properties, items, enum: list, const: fixed, allOf, prefixItems } = schema;
  if (typeof reference === 'string') return referenceOf(reference, name, counting);
  const branches = choicesOf(schema);
  if (branches !== undefined) return unionOf(branches, name, counting);
  if (Array.isArray(type)) {
    if (!mayCount(counting, type.length * Object.keys(schema).length)) return { reference: name, size: Infinity };
    const each = type.map((one) => ({ ...schema, type: one }));
    return unionOf(each, name, counting);
  }
  if (fixed !== undefined) return choiceOf([fixed], name, counting);
  if (Array.isArray(list)) return choiceOf(list, name, counting);
  if (isJsonObject(properties)) return objectOf(schema, name, counting);
  const several = [allOf, prefixItems, items].find(Array.isArray);
  if (several !== undefined) return unionOf(several, name + 6, counting);
  if (items === undefined) return valueOf(schema, name);
  const item = ruleOf(items, name + 5, counting);
  return { reference: name, size: named(name, 2 * item.reference + 60) + item.size };
}

/** Whether this many more parts may be counted. */
function mayCount(counting: Counting, parts: number): boolean {
  counting.left -= parts;
  return counting.left >= 0;
}

function named(name: number, body: number): number {
  return name + body + 8;
}

/** A referenced schema has its own rules, named after its path. */
function referenceOf(reference: string, name: number, counting: Counting): Rule {
  const called = reference.length + 3;
  const size = named(name, called);
  if (counting.known.has(reference)) return { reference: name, size };
  counting.known.add(reference);
  if (counting.hops >= maxHops) return { reference: name, size: Infinity };
  counting.hops += 1;
  const meant = ruleOf(findByPointer(counting.root, reference), called, counting);
  counting.hops -= 1;
  return { reference: name, size: size + meant.size + named(called, meant.reference) };
}

function unionOf(branches: readonly JsonValue[], name: number, counting: Counting): Rule {
  if (branches.length > counting.left) return { reference: name, size: Infinity };
  const rules = branches.map((branch, index) => ruleOf(branch, name + String(index).length + (name === 0 ? 12 : 1), counting));
  return { reference: name, size: named(name, sum(rules.map(({ reference }) => reference + 3))) + sum(rules.map(({ size }) => size)) };
}

function choiceOf(list: readonly JsonValue[], name: number, counting: Counting): Rule {
  let size = 10;
  for (const value of list) {
    const characters = literal(value) + 3;
    size += characters;
    if (!mayCount(counting, characters / minPartCharacters)) return { reference: name, size: Infinity };
  }
  return { reference: name, size: named(name, size) };
}

/** A string or number: only constrained ones have a rule of their own. */
function valueOf({ pattern, format, minLength, maxLength, ...schema }: JsonObject, name: number): Rule {
  if (typeof pattern === 'string') return { reference: name, size: named(name, 4 * pattern.length + 60) };
  if (minLength !== undefined || maxLength !== undefined) return { reference: name, size: named(name, 80) };
  const bounds = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'];
  if (bounds.some((word) => typeof schema[word] === 'number')) return { reference: name, size: named(name, boundedNumberCharacters) };
  return format === undefined ? { reference: 8, size: 0 } : { reference: name, size: named(name, 80) };
}

/** Each property has a rule with its key; an optional one also has a rule for the optional ones that may follow. */
function objectOf(schema: JsonObject, name: number, counting: Counting): Rule {
  const properties = isJsonObject(schema['properties']) ? schema['properties'] : {};
  const listed = Array.isArray(schema['required']) ? schema['required'] : [];
  if (!mayCount(counting, listed.length)) return { reference: name, size: Infinity };
  const required = new Set(listed);
  let size = named(name, 40);
  for (const [key, child] of Object.entries(properties)) {
    if (!mayCount(counting, key.length / minPartCharacters)) return { reference: name, size: Infinity };
    const inner = name + 1 + Buffer.byteLength(key);
    const rule = ruleOf(child, inner, counting);
    const pair = inner + 3;
    size += rule.size + named(pair, literal(key) + 22 + rule.reference) + pair + 14;
    if (!required.has(key)) size += named(inner + 5, pair + 18 + inner + 5) + inner + 10;
  }
  // An object with additional properties spells out, letter by letter, every key that is not among its own.
  const more = schema['additionalProperties'];
  if (more === true || isJsonObject(more))
    size += 4 * (name + 20) + 120 + prefixesOf(Object.keys(properties)) * 24 + ruleOf(more, name + 17, counting).size;
  return { reference: name, size };
}

/** The number of distinct prefixes of the words. */
function prefixesOf(words: readonly string[]): number {
  const prefixes = new Set<string>();
  let others = 0;
  for (const word of words) {
    const compared = Math.min(word.length, maxComparedCharacters);
    for (let end = 1; end <= compared; end += 1) prefixes.add(word.slice(0, end));
    others += word.length - compared;
  }
  return prefixes.size + others;
}

/** The length of a value as a quoted literal of the grammar. */
function literal(value: JsonValue): number {
  return JSON.stringify(JSON.stringify(value)).length;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
