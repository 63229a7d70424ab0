import { findByPointer } from '../shared/json-schema/pointer.ts';
import { maxHops } from '../shared/json-schema/resolve.ts';
import { isJsonObject, ownValue, type JsonObject, type JsonValue } from '../shared/json/json.ts';

/** Keywords that are looked at, over all schemas that apply to some part of the value: fifty milliseconds at most. */
const maxSteps = 50_000;
const dropped: ReadonlySet<string> = new Set(
  'title description examples example default $comment $defs definitions xml externalDocs'.split(' '),
);

/** `inseparable`: the schema has keywords that cannot be taken apart. `too_much`: the value needs too many steps. */
type PartForValue = { type: 'part'; schema: JsonObject } | { type: 'inseparable' } | { type: 'too_much' };

class Inseparable extends Error {}
class TooMuch extends Error {}

interface Walk {
  readonly root: JsonObject;
  readonly steps: { left: number };
  /** References and compositions (`allOf`, `anyOf`) that led here from the schema of this value. */
  readonly hops: number;
}

/**
 * The part of a schema that says something about this value: it takes or refuses the value as the whole does, with the same errors, and its size
 * depends on the value. So a schema that is too large to be compiled can be checked all the same.
 */
export function partForValue(schema: JsonObject, value: JsonValue): PartForValue {
  try {
    const part = partOf(schema, value, { root: schema, steps: { left: maxSteps }, hops: 0 });
    return isJsonObject(part) ? { type: 'part', schema: part } : { type: 'inseparable' };
  } catch (error) {
    if (error instanceof Inseparable) return { type: 'inseparable' };
    if (error instanceof TooMuch) return { type: 'too_much' };
    throw error;
  }
}

function partOf(schema: JsonValue, value: JsonValue, walk: Walk): JsonValue {
  if (!isJsonObject(schema)) return schema;
  const part: JsonObject = {};
  const beside: JsonValue[] = [];
  const inPlace = (child: JsonValue): JsonValue => {
    if (walk.hops >= maxHops) throw new Inseparable();
    return partOf(child, value, { ...walk, hops: walk.hops + 1 });
  };
  for (const keyword in schema) {
    const held = schema[keyword];
    takeStep(walk);
    if (held === undefined || dropped.has(keyword)) continue;
    switch (keyword) {
      case '$ref':
        beside.push(inPlace(targetOf(held, walk.root)));
        break;
      case 'allOf':
        if (Array.isArray(held)) beside.push(...held.map(inPlace));
        break;
      case 'anyOf':
      case 'oneOf':
        part[keyword] = Array.isArray(held) ? held.map(inPlace) : held;
        break;
      case 'not':
      case 'if':
      case 'then':
      case 'else':
        part[keyword] = inPlace(held);
        break;
      case 'properties':
      case 'additionalProperties':
      case 'items':
      case 'prefixItems':
      case 'dependentSchemas':
        break;
      default:
        requireApart(held, keyword);
        part[keyword] = held;
    }
  }
  if (isJsonObject(value)) Object.assign(part, membersPart(schema, value, walk), dependentPart(schema, value, inPlace));
  if (Array.isArray(value)) Object.assign(part, itemsPart(schema, value, walk));
  return beside.length === 0 ? part : { ...part, allOf: beside };
}

function takeStep({ steps }: Walk): void {
  steps.left -= 1;
  if (steps.left < 0) throw new TooMuch();
}

function targetOf(reference: JsonValue, root: JsonObject): JsonValue {
  const target = typeof reference === 'string' ? findByPointer(root, reference) : undefined;
  if (target === undefined) throw new Inseparable();
  return target;
}

/** Keywords that hold schemas and are not taken apart: these may not refer to others. */
const holders: ReadonlySet<string> = new Set(
  'contains propertyNames patternProperties unevaluatedProperties unevaluatedItems dependencies additionalItems $dynamicRef $recursiveRef'.split(
    ' ',
  ),
);

function requireApart(held: JsonValue, keyword: string): void {
  if (holders.has(keyword) && typeof held !== 'boolean') throw new Inseparable();
}

/** The schema of each member of the value by its name. */
function membersPart(schema: JsonObject, value: JsonObject, walk: Walk): JsonObject {
  const properties = ownValue(schema, 'properties');
  const others = ownValue(schema, 'additionalProperties');
  const members: [string, JsonValue][] = [];
  for (const [name, child] of Object.entries(value)) {
    takeStep(walk);
    if (child === undefined) continue;
    const named = isJsonObject(properties) ? ownValue(properties, name) : undefined;
    const member = named ?? (isJsonObject(others) ? others : undefined);
    if (member !== undefined) members.push([name, partOf(member, child, { ...walk, hops: 0 })]);
  }
  return { properties: Object.fromEntries(members), ...(typeof others === 'boolean' && { additionalProperties: others }) };
}

function dependentPart(schema: JsonObject, value: JsonObject, inPlace: (child: JsonValue) => JsonValue): JsonObject {
  const dependent = ownValue(schema, 'dependentSchemas');
  if (!isJsonObject(dependent)) return {};
  const parts = Object.keys(value).flatMap((name): [string, JsonValue][] => {
    const child = ownValue(dependent, name);
    return child === undefined ? [] : [[name, inPlace(child)]];
  });
  return { dependentSchemas: Object.fromEntries(parts) };
}

/** The schema of each item of the value by its place. */
function itemsPart(schema: JsonObject, value: readonly JsonValue[], walk: Walk): JsonObject {
  const { prefixItems, items } = schema;
  const first = Array.isArray(prefixItems) ? prefixItems : [];
  if (Array.isArray(items)) throw new Inseparable();
  const parts = value.map((item, index) => {
    takeStep(walk);
    return partOf(first[index] ?? items ?? true, item, { ...walk, hops: 0 });
  });
  return parts.length === 0 ? {} : { prefixItems: parts };
}
