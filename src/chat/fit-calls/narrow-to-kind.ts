import { findByPointer } from '../../shared/json-schema/pointer.ts';
import { isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../shared/json/json.ts';
import { listOf } from './schema-lists.ts';

interface NarrowingOptions {
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

export class KindNarrower {
  readonly #options: NarrowingOptions;
  readonly #findKindsOnce = cacheBySchema((schema) => this.#findKinds(schema));
  readonly #hasChoice = cacheBySchema((schema) => this.#allPartsOf(schema).some(isChoice));
  /** The schemas that were made, by the schema and the part that changes. */
  readonly #made = new Map<JsonObject, Map<JsonObject, JsonObject>>();

  constructor(options: NarrowingOptions) {
    this.#options = options;
  }

  /** The schema without the kinds of objects that `value` is not, if one of its members says of which kind it is. */
  narrow(schema: JsonObject, value: JsonObject): JsonObject {
    let narrowed = schema;
    for (let level = 0; level < maxLevels; level += 1) {
      const next = this.#narrowOnce(narrowed, value);
      if (next === undefined) break;
      narrowed = next;
    }
    return narrowed;
  }

  #referredBy(schema: JsonObject): JsonValue | undefined {
    const reference = ownValue(schema, '$ref');
    return typeof reference === 'string' ? findByPointer(this.#options.root, reference) : undefined;
  }

  /** The target of a reference beside other keywords, and the schemas of `allOf`. */
  #partsOf(schema: JsonObject): JsonValue[] {
    const target = this.#referredBy(schema);
    const parts = [...(target === undefined ? [] : [target]), ...listOf(schema, 'allOf')];
    this.#options.budget.stepsLeft -= parts.length;
    return parts;
  }

  /** The schema and all its parts, which apply together. */
  #allPartsOf(stated: JsonValue | undefined): JsonObject[] {
    const all = new Set<JsonObject>();
    const add = (part: JsonValue | undefined, level: number): void => {
      const schema = this.#options.targetOf(part);
      if (!isJsonObject(schema) || all.has(schema) || level > maxLevels || this.#options.budget.stepsLeft <= 0) return;
      all.add(schema);
      for (const inner of this.#partsOf(schema)) add(inner, level + 1);
    };
    add(stated, 0);
    return [...all];
  }

  /** The values of the member that the constants and choices in all parts of the kind allow. */
  #marksOf(parts: readonly JsonObject[], name: string): Mark[] {
    const stated = parts.flatMap((part) => this.#allPartsOf(ownValue(propertiesOf(part), name)));
    const choices = stated.flatMap((schema) => {
      const choice = ownValue(schema, 'const') ?? ownValue(schema, 'enum');
      return choice === undefined ? [] : [new Set([choice].flat())];
    });
    const [first, ...others] = choices;
    const marks = [...(first ?? [])].filter((mark) => others.every((choice) => choice.has(mark)));
    this.#options.budget.stepsLeft -= marks.length / 16;
    return marks.every(isMark) ? marks : [];
  }

  /** The kinds of a choice among objects that one member distinguishes. */
  #findKinds(schema: JsonObject): Kinds | undefined {
    if (Object.hasOwn(schema, 'anyOf') && Object.hasOwn(schema, 'oneOf')) return undefined;
    const branches = [...listOf(schema, 'anyOf'), ...listOf(schema, 'oneOf')].filter(this.#options.takesObjects);
    this.#options.budget.stepsLeft -= branches.length;
    const kinds = branches.map(this.#options.targetOf).filter(isJsonObject);
    const [first] = kinds;
    if (first === undefined || kinds.length < branches.length || this.#options.budget.stepsLeft <= 0) return undefined;
    if (kinds.length === 1) return { only: first };
    const parts = kinds.map((kind) => this.#allPartsOf(kind));
    for (const name of this.#markNamesOf(parts[0] ?? [])) {
      const marks = parts.map((partsOfKind) => this.#marksOf(partsOfKind, name));
      if (this.#options.budget.stepsLeft <= 0) return undefined;
      const byMark = new Map(kinds.flatMap((kind, index) => (marks[index] ?? []).map((mark) => [mark, kind])));
      const count = marks.reduce((sum, { length }) => sum + length, 0);
      if (byMark.size === count && marks.every(({ length }) => length > 0)) return { name, byMark };
    }
    return undefined;
  }

  #markNamesOf(parts: readonly JsonObject[]): string[] {
    const names: string[] = [];
    for (const name of new Set(parts.flatMap((part) => Object.keys(propertiesOf(part))))) {
      this.#options.budget.stepsLeft -= 1;
      if (names.length >= maxMarks || this.#options.budget.stepsLeft <= 0) break;
      if (this.#marksOf(parts, name).length > 0) names.push(name);
    }
    return names;
  }

  #kindOf(schema: JsonObject, value: JsonObject): JsonObject | undefined {
    const kinds = this.#findKindsOnce(schema);
    const mark = kinds?.name === undefined ? undefined : ownValue(value, kinds.name);
    return isMark(mark) ? kinds?.byMark?.get(mark) : kinds?.only;
  }

  /** Makes a schema once for each part that changes, because the reading of a schema is cached. */
  #remakeOnce(schema: JsonObject, changed: JsonObject, make: () => JsonObject): JsonObject {
    const known = this.#made.get(schema) ?? new Map<JsonObject, JsonObject>();
    this.#made.set(schema, known);
    const before = known.get(changed);
    if (before !== undefined) return before;
    const schemaOfKind = make();
    this.#options.budget.stepsLeft -= Object.keys(schemaOfKind).length + listOf(schemaOfKind, 'allOf').length;
    known.set(changed, schemaOfKind);
    return schemaOfKind;
  }

  /** Replaces one choice by a kind, in the schema itself or in a part of it. */
  #narrowOnce(schema: JsonObject, value: JsonObject, level = 0): JsonObject | undefined {
    if (level > maxLevels || this.#options.budget.stepsLeft <= 0 || !this.#hasChoice(schema)) return undefined;
    const kind = isChoice(schema) ? this.#kindOf(schema, value) : undefined;
    if (kind !== undefined) return this.#remakeOnce(schema, kind, () => withoutChoice(schema, kind));
    const parts = this.#partsOf(schema);
    for (const [index, stated] of parts.entries()) {
      const part = this.#options.targetOf(stated);
      const narrowed = isJsonObject(part) ? this.#narrowOnce(part, value, level + 1) : undefined;
      if (narrowed !== undefined)
        return this.#remakeOnce(schema, narrowed, () => {
          const { $ref: reference, ...rest } = schema;
          const isFollowed = this.#referredBy(schema) !== undefined;
          return { ...rest, ...(!isFollowed && reference !== undefined && { $ref: reference }), allOf: parts.with(index, narrowed) };
        });
    }
    return undefined;
  }
}

function withoutChoice(schema: JsonObject, kind: JsonObject): JsonObject {
  const { anyOf: _anyOf, oneOf: _oneOf, ...rest } = schema;
  return Object.keys(rest).length === 0 ? kind : { ...rest, allOf: [...listOf(rest, 'allOf'), kind] };
}

function cacheBySchema<T>(find: (schema: JsonObject) => T): (schema: JsonObject) => T {
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
