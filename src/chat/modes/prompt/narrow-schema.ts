import { isContainer, isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';
import { choicesOf } from '../../../shared/json-schema/keywords.ts';
import { resolveSchema } from '../../../shared/json-schema/resolve.ts';
import { ExactNumber, isWhole } from '../../../shared/json/exact-number.ts';

/** Parts of a schema beyond these limits become `{}`, which allows anything. That is safe: arguments are validated against the full schema later. */
const maxDepth = 5;
const maxNodes = 400;
const maxChoices = 100;
const maxRequired = 1_000;
/** Total length of property names and enum values; what is referenced twice counts twice, because references are expanded. */
const maxCharacters = 40_000;
const types = new Set(['string', 'number', 'integer', 'boolean', 'null', 'object', 'array']);

interface Narrowing {
  /** Holds the definitions that references point to. */
  root: JsonObject;
  /** What is left of `maxNodes` and `maxCharacters`, shared by all parts. */
  left: { nodes: number; characters: number };
  depth: number;
}

/**
 * Reduces a function's parameters to the keywords that grammars and structured outputs have in common: types, enums, properties, items. The result
 * allows at least what the schema allows. Patterns, lengths and bounds are validated afterwards.
 */
export function narrowParameters(parameters: JsonObject): JsonObject {
  const narrowed = narrow(parameters, { root: parameters, left: { nodes: maxNodes, characters: maxCharacters }, depth: 0 });
  return narrowed['type'] === 'object' ? narrowed : { type: 'object' };
}

function narrow(value: JsonValue | undefined, scope: Narrowing): JsonObject {
  const schema = resolveSchema(value, scope.root);
  scope.left.nodes -= 1;
  if (!isJsonObject(schema) || scope.depth > maxDepth || isSpent(scope) || schema['allOf'] !== undefined) return {};
  const { type, enum: list, const: fixed, properties } = schema;
  const stated = (Array.isArray(type) ? type.slice(0, types.size) : [type]).filter(
    (name): name is string => typeof name === 'string' && types.has(name),
  );
  if (fixed !== undefined) return choice([fixed], scope);
  if (Array.isArray(list)) return list.length <= maxChoices && list.length > 0 ? choice(list, scope) : typed(stated);
  const branches = choicesOf(schema);
  if (branches !== undefined) return anyOf(branches, scope);
  if (stated.length === 0) return isJsonObject(properties) ? objectOf(schema, scope) : {};
  if (stated.length > 1) return typed(stated);
  if (stated[0] === 'object') return objectOf(schema, scope);
  if (stated[0] === 'array') return { type: 'array', items: narrow(schema['items'], deeper(scope)) };
  return typed(stated);
}

function isSpent({ left }: Narrowing): boolean {
  return left.nodes < 0 || left.characters < 0;
}

/** States the types beside the enum, because OpenAI's structured outputs require them. */
function choice(list: JsonValue[], scope: Narrowing): JsonObject {
  if (list.some(isContainer)) return {};
  for (const value of list) scope.left.characters -= typeof value === 'string' ? value.length : 1;
  if (isSpent(scope)) return {};
  const found = new Set(list.map(typeName));
  return { ...typed([...found]), enum: list };
}

function typeName(value: JsonValue): string {
  if (value === null) return 'null';
  if (value instanceof ExactNumber) return isWhole(value) ? 'integer' : 'number';
  return Number.isInteger(value) ? 'integer' : typeof value;
}

function typed(names: string[]): JsonObject {
  if (names.length === 0) return {};
  return { type: names.length === 1 ? (names[0] ?? null) : names };
}

function anyOf(branches: JsonValue[], scope: Narrowing): JsonObject {
  if (branches.length > scope.left.nodes) return {};
  const narrowed = branches.map((branch) => narrow(branch, deeper(scope)));
  return narrowed.some((branch) => Object.keys(branch).length === 0) ? {} : { anyOf: narrowed };
}

function objectOf({ properties, required, additionalProperties: more }: JsonObject, scope: Narrowing): JsonObject {
  const isOpen = more === true || isJsonObject(more);
  if (!isJsonObject(properties)) return isOpen || scope.depth > 0 ? { type: 'object' } : closed([], []);
  for (const name in properties) {
    scope.left.characters -= name.length + 1;
    if (isSpent(scope)) return { type: 'object' };
  }
  const entries = Object.entries(properties).map(([name, child]): [string, JsonObject] => [name, narrow(child, deeper(scope))]);
  const needed = (Array.isArray(required) ? required.slice(0, maxRequired) : []).filter(
    (name) => typeof name === 'string' && Object.hasOwn(properties, name) && !hasDefault(properties[name]),
  );
  const object = closed(entries, needed);
  return isOpen ? { ...object, additionalProperties: true } : object;
}

/** An argument with a default may be left out even if the schema requires it. */
function hasDefault(schema: JsonValue | undefined): boolean {
  return isJsonObject(schema) && ownValue(schema, 'default') !== undefined;
}

function closed(entries: [string, JsonObject][], required: JsonValue[]): JsonObject {
  return { type: 'object', properties: Object.fromEntries(entries), required, additionalProperties: false };
}

function deeper(scope: Narrowing): Narrowing {
  return { ...scope, depth: scope.depth + 1 };
}

/**
 * Converts a narrowed schema for OpenAI's strict mode, which requires every property; optional ones become nullable, and null stands for "left out".
 * Undefined when the schema has parts without a type, open objects, or optional properties that are nullable already, because then null is ambiguous.
 */
export function toStrict(narrowed: JsonObject): JsonObject | undefined {
  return strict(narrowed, false);
}

function strict(schema: JsonObject, isChoice: boolean): JsonObject | undefined {
  const { type, properties, required, items, anyOf: branches } = schema;
  if (Array.isArray(branches)) {
    const closedBranches = branches.map((branch) => (isJsonObject(branch) ? strict(branch, true) : undefined));
    return closedBranches.includes(undefined) ? undefined : { anyOf: closedBranches as JsonObject[] };
  }
  if (type === undefined) return undefined;
  const stated = [type].flat();
  if (stated.length > 1) return stated.some((name) => name === 'object' || name === 'array') ? undefined : schema;
  if (type === 'array') {
    const inner = isJsonObject(items) ? strict(items, isChoice) : undefined;
    return inner && { ...schema, items: inner };
  }
  if (type !== 'object') return schema;
  if (!isJsonObject(properties) || schema['additionalProperties'] !== false) return undefined;
  const entries: [string, JsonObject][] = [];
  for (const [name, child] of Object.entries(properties)) {
    const inner = isJsonObject(child) ? strict(child, isChoice) : undefined;
    const isNeeded = Array.isArray(required) && required.includes(name);
    const property = inner === undefined || isNeeded ? inner : isChoice ? undefined : orNull(inner);
    if (property === undefined) return undefined;
    entries.push([name, property]);
  }
  return closed(
    entries,
    entries.map(([name]) => name),
  );
}

function orNull(schema: JsonObject): JsonObject | undefined {
  const { type, enum: list, anyOf: branches } = schema;
  const isNull = (branch: JsonValue): boolean => isJsonObject(branch) && [branch['type']].flat().includes('null');
  if (Array.isArray(branches)) return branches.some(isNull) ? undefined : { anyOf: [...branches, { type: 'null' }] };
  const stated = [type].flat().filter((name): name is string => typeof name === 'string');
  if (stated.includes('null')) return undefined;
  return { ...schema, type: [...stated, 'null'], ...(Array.isArray(list) && { enum: [...list, null] }) };
}
