import { findByPointer } from '../../shared/json-pointer.ts';
import { isJsonObject, ownValue } from '../../shared/json.ts';
import type { JsonObject, JsonValue } from '../../shared/json.ts';
import { listOf } from './schema-lists.ts';

/** The schema without the kinds of objects that `value` is not, where one of its members says of which kind it is. */
export type KindNarrower = (schema: JsonObject, value: JsonObject) => JsonObject;

export interface NarrowingOptions {
  root: JsonObject;
  /** Follows references. */
  targetOf: (stated: JsonValue | undefined) => JsonValue | undefined;
  takesObjects: (schema: JsonValue) => boolean;
  /** Shared with the reading of schemas. With none left, nothing is narrowed. */
  budget: { stepsLeft: number };
}

/** A member that says of which kind an object is. */
type Mark = string | number | boolean;

/** The kinds of objects that a schema offers, by their mark in the member `name`, or the only one. */
interface Kinds {
  name?: string;
  byMark?: ReadonlyMap<Mark, JsonObject>;
  only?: JsonObject;
}

/** Members that are compared: those of the first kind that may be marks. */
const maxMarks = 8;
/** Parts within parts, of a schema and of a kind. */
const maxLevels = 8;

export function createKindNarrower({ root, targetOf, takesObjects, budget }: NarrowingOptions): KindNarrower {
  const referredBy = (schema: JsonObject): JsonValue | undefined => {
    const reference = ownValue(schema, '$ref');
    return typeof reference === 'string' ? findByPointer(root, reference) : undefined;
  };

  /** What a reference beside other keywords leads to, and the schemas of `allOf`. */
  const partsOf = (schema: JsonObject): JsonValue[] => {
    const target = referredBy(schema);
    const parts = [...(target === undefined ? [] : [target]), ...listOf(schema, 'allOf')];
    budget.stepsLeft -= parts.length;
    return parts;
  };

  /** The schema and its parts, which hold together. */
  const allPartsOf = (stated: JsonValue | undefined): JsonObject[] => {
    const all = new Set<JsonObject>();
    const add = (part: JsonValue | undefined, level: number): void => {
      const schema = targetOf(part);
      if (!isJsonObject(schema) || all.has(schema) || level > maxLevels || budget.stepsLeft <= 0) return;
      all.add(schema);
      for (const inner of partsOf(schema)) add(inner, level + 1);
    };
    add(stated, 0);
    return [...all];
  };

  /** What the member may be, as far as constants and choices say it in all parts of the kind. */
  const marksOf = (parts: readonly JsonObject[], name: string): Mark[] => {
    const stated = parts.flatMap((part) => allPartsOf(ownValue(propertiesOf(part), name)));
    const choices = stated.flatMap((schema) => {
      const choice = ownValue(schema, 'const') ?? ownValue(schema, 'enum');
      return choice === undefined ? [] : [new Set([choice].flat())];
    });
    const [first, ...others] = choices;
    const marks = [...(first ?? [])].filter((mark) => others.every((choice) => choice.has(mark)));
    budget.stepsLeft -= marks.length / 16;
    return marks.every(isMark) ? marks : [];
  };

  /** Of a choice among objects that one member tells apart. */
  const findKinds = (schema: JsonObject): Kinds | undefined => {
    if (Object.hasOwn(schema, 'anyOf') && Object.hasOwn(schema, 'oneOf')) return undefined;
    const branches = [...listOf(schema, 'anyOf'), ...listOf(schema, 'oneOf')].filter(takesObjects);
    budget.stepsLeft -= branches.length;
    const kinds = branches.map(targetOf).filter(isJsonObject);
    const [first] = kinds;
    if (first === undefined || kinds.length < branches.length || budget.stepsLeft <= 0) return undefined;
    if (kinds.length === 1) return { only: first };
    const parts = kinds.map(allPartsOf);
    for (const name of markNamesOf(parts[0] ?? [])) {
      const marks = parts.map((partsOfKind) => marksOf(partsOfKind, name));
      if (budget.stepsLeft <= 0) return undefined;
      const byMark = new Map(kinds.flatMap((kind, index) => (marks[index] ?? []).map((mark) => [mark, kind])));
      const count = marks.reduce((sum, { length }) => sum + length, 0);
      if (byMark.size === count && marks.every(({ length }) => length > 0)) return { name, byMark };
    }
    return undefined;
  };

  const markNamesOf = (parts: readonly JsonObject[]): string[] => {
    const names: string[] = [];
    for (const name of new Set(parts.flatMap((part) => Object.keys(propertiesOf(part))))) {
      budget.stepsLeft -= 1;
      if (names.length >= maxMarks || budget.stepsLeft <= 0) break;
      if (marksOf(parts, name).length > 0) names.push(name);
    }
    return names;
  };

  const findKindsOnce = remembering(findKinds);

  const kindOf = (schema: JsonObject, value: JsonObject): JsonObject | undefined => {
    const kinds = findKindsOnce(schema);
    const mark = kinds?.name === undefined ? undefined : ownValue(value, kinds.name);
    return isMark(mark) ? kinds?.byMark?.get(mark) : kinds?.only;
  };

  const hasChoice = remembering((schema: JsonObject): boolean => allPartsOf(schema).some(isChoice));

  const made = new Map<JsonObject, Map<JsonObject, JsonObject>>();

  /** Made once for each part that changes, because what is read of a schema is remembered. */
  const remade = (schema: JsonObject, changed: JsonObject, make: () => JsonObject): JsonObject => {
    const known = made.get(schema) ?? new Map<JsonObject, JsonObject>();
    made.set(schema, known);
    const before = known.get(changed);
    if (before !== undefined) return before;
    const schemaOfKind = make();
    budget.stepsLeft -= Object.keys(schemaOfKind).length + listOf(schemaOfKind, 'allOf').length;
    known.set(changed, schemaOfKind);
    return schemaOfKind;
  };

  /** With a kind in the place of one choice, in the schema itself or in a part of it. */
  const narrowOnce = (schema: JsonObject, value: JsonObject, level = 0): JsonObject | undefined => {
    if (level > maxLevels || budget.stepsLeft <= 0 || !hasChoice(schema)) return undefined;
    const kind = isChoice(schema) ? kindOf(schema, value) : undefined;
    if (kind !== undefined) return remade(schema, kind, () => withoutChoice(schema, kind));
    const parts = partsOf(schema);
    for (const [index, stated] of parts.entries()) {
      const part = targetOf(stated);
      const narrowed = isJsonObject(part) ? narrowOnce(part, value, level + 1) : undefined;
      if (narrowed !== undefined)
        return remade(schema, narrowed, () => {
          const { $ref: reference, ...rest } = schema;
          const isFollowed = referredBy(schema) !== undefined;
          return { ...rest, ...(!isFollowed && reference !== undefined && { $ref: reference }), allOf: parts.with(index, narrowed) };
        });
    }
    return undefined;
  };

  return (schema, value) => {
    let narrowed = schema;
    for (let level = 0; level < maxLevels; level += 1) {
      const next = narrowOnce(narrowed, value);
      if (next === undefined) break;
      narrowed = next;
    }
    return narrowed;
  };
}

function withoutChoice(schema: JsonObject, kind: JsonObject): JsonObject {
  const { anyOf: _anyOf, oneOf: _oneOf, ...rest } = schema;
  return Object.keys(rest).length === 0 ? kind : { ...rest, allOf: [...listOf(rest, 'allOf'), kind] };
}

function remembering<T>(find: (schema: JsonObject) => T): (schema: JsonObject) => T {
  const known = new Map<JsonObject, T>();
  return (schema) => {
    const before = known.get(schema);
    if (before !== undefined || known.has(schema)) return before as T;
    const found = find(schema);
    known.set(schema, found);
    return found;
  };
}

function isChoice(schema: JsonObject): boolean {
  return Object.hasOwn(schema, 'anyOf') || Object.hasOwn(schema, 'oneOf');
}

function isMark(value: JsonValue | undefined): value is Mark {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}

function propertiesOf(schema: JsonObject): JsonObject {
  const properties = ownValue(schema, 'properties');
  return isJsonObject(properties) ? properties : {};
}
