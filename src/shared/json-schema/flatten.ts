import { isContainer, isJsonObject, ownValue, type JsonObject, type JsonValue } from '../json/json.ts';
import { findByPointer } from './pointer.ts';
import { maxHops, referenceOf } from './resolve.ts';

/** Parts of one schema; more are left out. */
const maxParts = maxHops;
/** A longer reference is a mistake, or an attack. */
const maxReference = 1_000;

/**
 * A schema with its references resolved and its `allOf` taken apart: a value has to fit all parts. The parts are the caller's own objects, and are
 * not changed.
 */
export interface FlatSchema {
  /** Without `$ref` and `allOf`, which they may still contain and which are to be ignored. */
  parts: JsonObject[];
  /** The references that were resolved. */
  references: string[];
  /** False if a part is missing, because a reference leads nowhere, to itself, or too far. */
  isWhole: boolean;
}

/** `root`: the schema that references start from. The cost depends on the keywords of this one schema only, not on the schemas within it. */
export function flatten(schema: JsonObject, root: JsonObject): FlatSchema {
  const flat: FlatSchema = { parts: [], references: [], isWhole: true };
  const add = (part: JsonValue | undefined): void => {
    if (part === true) return;
    if (!isJsonObject(part) || flat.parts.length >= maxParts) {
      flat.isWhole = false;
      return;
    }
    flat.parts.push(part);
    const reference = referenceOf(part);
    if (reference !== undefined) {
      const isNew = reference.length <= maxReference && !flat.references.includes(reference);
      flat.references.push(reference);
      add(isNew ? findByPointer(root, reference) : undefined);
    }
    const { allOf } = part;
    if (!Array.isArray(allOf)) return;
    if (allOf.length > maxParts) flat.isWhole = false;
    for (const branch of allOf.slice(0, maxParts)) add(branch);
  };
  add(schema);
  return flat;
}

/** The keyword of the first part that has it. */
export function keywordOf({ parts }: FlatSchema, keyword: string): JsonValue | undefined {
  return parts.map((part) => ownValue(part, keyword)).find((value) => value !== undefined);
}

/** The schemas of all members that are named; where several parts have a name, the first. */
export function* membersOf({ parts }: FlatSchema): Generator<[name: string, schema: JsonValue]> {
  const seen = new Set<string>();
  for (const part of parts) {
    const properties = ownValue(part, 'properties');
    if (!isJsonObject(properties)) continue;
    for (const name in properties) {
      const schema = ownValue(properties, name);
      if (schema === undefined || seen.has(name)) continue;
      if (parts.length > 1) seen.add(name);
      yield [name, schema];
    }
  }
}

/** The schema of a named member, of the first part that has it. */
export function memberOf({ parts }: FlatSchema, name: string): JsonValue | undefined {
  for (const part of parts) {
    const properties = ownValue(part, 'properties');
    const member = isJsonObject(properties) ? ownValue(properties, name) : undefined;
    if (member !== undefined) return member;
  }
  return undefined;
}

/** The alternatives, of `anyOf`, else of `oneOf`. */
export function alternativesOf(flat: FlatSchema): { keyword: 'anyOf' | 'oneOf'; branches: JsonValue[] } | undefined {
  for (const keyword of ['anyOf', 'oneOf'] as const) {
    const branches = keywordOf(flat, keyword);
    if (Array.isArray(branches)) return { keyword, branches };
  }
  return undefined;
}

/** Whether a keyword's value may hold a reference, and so cannot be copied without its target. Values with more than a few entries count as such. */
export function isReferring(value: JsonValue): boolean {
  let left = maxEntries;
  const isOne = (entry: JsonValue | undefined): boolean => {
    left -= 1;
    if (!isContainer(entry)) return false;
    if (left < 0 || (isJsonObject(entry) && (Object.hasOwn(entry, '$ref') || Object.hasOwn(entry, '$dynamicRef')))) return true;
    return Object.values(entry).some((child) => isOne(child));
  };
  return isOne(value);
}
const maxEntries = 200;
