import { findByPointer } from '../../shared/json-schema/pointer.ts';
import { maxHops, referenceOf } from '../../shared/json-schema/resolve.ts';
import { isJsonObject, ownValue } from '../../shared/json.ts';
import type { JsonObject, JsonValue } from '../../shared/json.ts';

/** What a schema declares of the members of an object and the items of a list, in all of its branches together. */
export interface DeclaredMembers {
  /** Declared by name. */
  names(): readonly string[];
  /** Whether a member is declared, by name or by pattern. */
  has(name: string): boolean;
  /** Further members are allowed: the schema says so, or declares none. */
  isOpen: boolean;
  /** Members are declared by pattern, so that there may be more than those declared by name. */
  hasPatterns: boolean;
  schemaOf(name: string): JsonValue | undefined;
  itemSchema(index: number): JsonValue | undefined;
}

/** What the schema declares of `value`: where that says of which kind it is, only the members of its kind. */
export type MemberReader = (schema: JsonValue | undefined, value?: JsonValue) => DeclaredMembers;

/** Schemas and names that are read for one call; each takes below a microsecond. Beyond them, and below this depth, every object is open. */
const maxSteps = 20_000;
const maxDepth = 200;
const conditions = ['if', 'then', 'else'];
const dependencies = ['dependentSchemas', 'dependencies'];
const compositions = new Set(['$ref', 'allOf', 'anyOf', 'oneOf', 'patternProperties', ...conditions, ...dependencies]);

interface Reading extends DeclaredMembers {
  /** An object may be a value of the schema. */
  takesObjects: boolean;
  /** The same of a list. */
  takesLists: boolean;
  /** The schema says that further members are allowed. */
  allowsMore: boolean;
  /** The schema of members that are not declared by name. */
  others: JsonValue | undefined;
  patterns: readonly string[];
}

const nothing: Reading = {
  names: () => [],
  has: () => false,
  isOpen: false,
  hasPatterns: false,
  schemaOf: () => undefined,
  itemSchema: () => undefined,
  takesObjects: false,
  takesLists: false,
  allowsMore: false,
  others: undefined,
  patterns: [],
};
const anything: Reading = { ...nothing, isOpen: true, takesObjects: true, takesLists: true, allowsMore: true };
/** Of a schema that is being read: one that leads back to itself adds nothing to itself. */
const pending: Reading = { ...nothing, takesObjects: true };

/** Reads parts of the schema `root`, which has the definitions that references point to. */
export function createMemberReader(root: JsonObject): MemberReader {
  const known = new Map<JsonObject, Reading>();
  let stepsLeft = maxSteps;
  let depth = 0;
  /** Set where a schema led back to one that is being read. */
  let isPartial = false;

  /** A reference may have megabytes, and be followed for each of thousands of values. */
  const targets = new Map<JsonObject, JsonValue | undefined>();

  const targetOf = (stated: JsonValue | undefined): JsonValue | undefined => {
    if (!isJsonObject(stated) || !Object.hasOwn(stated, '$ref')) return stated;
    if (!targets.has(stated)) targets.set(stated, followed(stated));
    return targets.get(stated);
  };

  const followed = (stated: JsonObject): JsonValue | undefined => {
    let schema: JsonValue | undefined = stated;
    for (let hop = 0; hop < maxHops; hop += 1) {
      const reference = isJsonObject(schema) ? referenceOf(schema) : undefined;
      if (!isJsonObject(schema) || reference === undefined || Object.keys(schema).length > 1) return schema;
      schema = findByPointer(root, reference);
    }
    return undefined;
  };

  const read = (stated: JsonValue | undefined): Reading => {
    const schema = targetOf(stated);
    if (schema === false) return nothing;
    if (!isJsonObject(schema)) return anything;
    stepsLeft -= 1;
    const before = known.get(schema);
    isPartial ||= before === pending;
    if (before !== undefined) return before;
    if (stepsLeft <= 0 || depth > maxDepth) return anything;
    known.set(schema, pending);
    depth += 1;
    const reading = Object.keys(schema).some((key) => compositions.has(key)) ? readComposed(schema) : readPlain(schema);
    depth -= 1;
    if (isPartial && depth > 0) known.delete(schema);
    else known.set(schema, reading);
    if (depth === 0) isPartial = false;
    return reading;
  };

  const readComposed = (schema: JsonObject): Reading => {
    const members = new ComposedMembers();
    const seen = new Set<JsonObject>();
    const addPart = (stated: JsonValue | undefined, isCondition: boolean): void => {
      const part = targetOf(stated);
      if (!isJsonObject(part) || seen.has(part)) return;
      if (stepsLeft <= 0 || depth > maxDepth) return members.open();
      seen.add(part);
      depth += 1;
      stepsLeft -= 1 + members.addPart(part, isCondition);
      const reference = referenceOf(part);
      const target = reference === undefined ? true : findByPointer(root, reference);
      if (target === undefined) members.open();
      else addPart(target, isCondition);
      for (const inner of listOf(part, 'allOf')) addPart(inner, isCondition);
      for (const key of conditions) addPart(ownValue(part, key), true);
      for (const inner of dependencies.flatMap((key) => valuesOf(part, key))) addPart(inner, true);
      for (const key of ['anyOf', 'oneOf']) addBranches(listOf(part, key), isCondition);
      depth -= 1;
    };
    const addBranches = (branches: readonly JsonValue[], isCondition: boolean): void => {
      let takesObjects = branches.length === 0 || isCondition;
      let takesLists = takesObjects;
      for (const branch of branches) {
        if (stepsLeft <= 0) return members.open();
        const reading = read(branch);
        takesObjects ||= reading.takesObjects;
        takesLists ||= reading.takesLists;
        if (reading.takesObjects) stepsLeft -= members.addBranch(reading);
        if (reading.takesLists) members.addItems(reading);
      }
      if (!takesObjects) members.refuseObjects();
      if (!takesLists) members.refuseLists();
    };
    addPart(schema, false);
    return members.toReading();
  };

  const kindsBySchema = new Map<JsonObject, Kinds | undefined>();

  const kindsOf = (schema: JsonObject): Kinds | undefined => {
    if (!kindsBySchema.has(schema)) kindsBySchema.set(schema, findKinds(schema));
    return kindsBySchema.get(schema);
  };

  /** Of a choice among objects that one text tells apart. */
  const findKinds = (schema: JsonObject): Kinds | undefined => {
    if (Object.hasOwn(schema, 'anyOf') && Object.hasOwn(schema, 'oneOf')) return undefined;
    const branches = [...listOf(schema, 'anyOf'), ...listOf(schema, 'oneOf')].filter((branch) => read(branch).takesObjects);
    stepsLeft -= branches.length;
    const kinds = branches.map(targetOf).filter(isJsonObject);
    const [first] = kinds;
    if (first === undefined || kinds.length < branches.length || stepsLeft <= 0) return undefined;
    if (kinds.length === 1) return { only: first };
    for (const name of Object.keys(propertiesOf(first)).slice(0, maxMarks)) {
      stepsLeft -= kinds.length;
      const marks = kinds.map((kind) => marksOf(kind, name));
      const byMark = new Map(kinds.flatMap((kind, index) => (marks[index] ?? []).map((mark) => [mark, kind])));
      const count = marks.reduce((sum, { length }) => sum + length, 0);
      if (byMark.size === count && marks.every(({ length }) => length > 0)) return { name, byMark };
    }
    return undefined;
  };

  const schemasOfKinds = new Map<JsonObject, Map<JsonObject, JsonObject>>();

  /** The choice with one kind in its place. Made once, because what is read of it is remembered. */
  const schemaOfKind = (schema: JsonObject, kind: JsonObject): JsonObject => {
    const known = schemasOfKinds.get(schema) ?? new Map<JsonObject, JsonObject>();
    schemasOfKinds.set(schema, known);
    const before = known.get(kind);
    if (before !== undefined) return before;
    const { anyOf: _anyOf, oneOf: _oneOf, ...rest } = schema;
    const others = listOf(rest, 'allOf');
    stepsLeft -= Object.keys(rest).length + others.length;
    const made = Object.keys(rest).length === 0 ? kind : { ...rest, allOf: [...others, kind] };
    known.set(kind, made);
    return made;
  };

  const marksOf = (kind: JsonObject, name: string): string[] => {
    const property = targetOf(ownValue(propertiesOf(kind), name));
    if (!isJsonObject(property)) return [];
    const marks = [ownValue(property, 'const') ?? ownValue(property, 'enum') ?? []].flat();
    return marks.every((mark) => typeof mark === 'string') ? marks : [];
  };

  const kindOf = (schema: JsonObject, value: JsonObject): JsonObject | undefined => {
    if (stepsLeft <= 0) return undefined;
    const kinds = kindsOf(schema);
    const mark = kinds?.name === undefined ? undefined : ownValue(value, kinds.name);
    return typeof mark === 'string' ? kinds?.byMark?.get(mark) : kinds?.only;
  };

  return (stated, value) => {
    let schema = targetOf(stated);
    for (let level = 0; level < maxHops && isJsonObject(value) && isJsonObject(schema) && isChoice(schema); level += 1) {
      const kind = kindOf(schema, value);
      if (kind === undefined) break;
      schema = schemaOfKind(schema, kind);
    }
    return read(schema);
  };
}

/** The kinds of objects that a schema offers, by the text of the member `name`, or the only one. */
interface Kinds {
  name?: string;
  byMark?: ReadonlyMap<string, JsonObject>;
  only?: JsonObject;
}

/** The members of a kind that are looked at for what tells it apart. */
const maxMarks = 8;

function isChoice(schema: JsonObject): boolean {
  return Object.hasOwn(schema, 'anyOf') || Object.hasOwn(schema, 'oneOf');
}

function propertiesOf(schema: JsonObject): JsonObject {
  const properties = ownValue(schema, 'properties');
  return isJsonObject(properties) ? properties : {};
}

/** Most schemas are like this, so nothing is copied. */
function readPlain(schema: JsonObject): Reading {
  const stated = ownValue(schema, 'properties');
  const properties = isJsonObject(stated) ? stated : {};
  const required = new Set(requiredNames(schema).filter((name) => !Object.hasOwn(properties, name)));
  let names: readonly string[] | undefined;
  const others = othersOf(schema);
  const allowsMore = others !== undefined && others !== false;
  const namesNothing = required.size === 0 && Object.keys(properties).length === 0;
  const tuple = tupleOf(schema);
  return {
    names: () => (names ??= [...Object.keys(properties), ...required]),
    has: (name) => Object.hasOwn(properties, name) || required.has(name),
    isOpen: allowsMore || (namesNothing && others !== false),
    hasPatterns: false,
    schemaOf: (name) => ownValue(properties, name) ?? (required.has(name) ? undefined : others),
    itemSchema: (index) => tuple[index] ?? furtherItems(schema),
    takesObjects: takesObjects(schema),
    takesLists: takesLists(schema),
    allowsMore,
    others,
    patterns: [],
  };
}

/** Gathers what a schema declares that is made of several. */
class ComposedMembers {
  readonly #named = new Map<string, Schemas>();
  readonly #others = new Schemas();
  readonly #items = new Schemas();
  readonly #patterns = new Set<string>();
  #takesObjects = true;
  #takesLists = true;
  #declaresItself = false;
  #isClosed = false;
  #allowsMore = false;
  #hasOpenBranch = false;

  /** The keywords of a schema that holds in any case, or under a condition. Returns the number of names. */
  addPart(schema: JsonObject, isCondition: boolean): number {
    if (!isCondition && !takesObjects(schema)) this.#takesObjects = false;
    if (!isCondition && !takesLists(schema)) this.#takesLists = false;
    const properties = ownValue(schema, 'properties');
    const names = isJsonObject(properties) ? Object.keys(properties) : [];
    const required = requiredNames(schema);
    for (const name of names) this.#schemasOf(name).addPart(isJsonObject(properties) ? properties[name] : undefined);
    for (const name of required) this.#schemasOf(name);
    const patterns = ownValue(schema, 'patternProperties');
    for (const pattern of isJsonObject(patterns) ? Object.keys(patterns) : []) this.#patterns.add(pattern);
    for (const child of valuesOf(schema, 'patternProperties')) this.#others.addBranch(child);
    const others = othersOf(schema);
    if (others === false) this.#isClosed = true;
    else if (others !== undefined) {
      this.#allowsMore = true;
      this.#others.addBranch(others);
    }
    this.#declaresItself ||= names.length > 0 || required.length > 0 || this.#patterns.size > 0;
    for (const item of tupleOf(schema)) this.#items.addBranch(item);
    this.#items.addPart(furtherItems(schema));
    return names.length + required.length;
  }

  /** One of several schemas of which an object may have any. Returns the number of names. */
  addBranch(branch: Reading): number {
    const names = branch.names();
    for (const name of names) this.#schemasOf(name).addBranch(branch.schemaOf(name));
    for (const pattern of branch.patterns) this.#patterns.add(pattern);
    this.#allowsMore ||= branch.allowsMore;
    this.#hasOpenBranch ||= branch.isOpen;
    this.#others.addBranch(branch.others);
    return names.length;
  }

  /** One of several schemas of which a list may have any. Without a schema for its items, they may be anything. */
  addItems(branch: Reading): void {
    this.#items.addBranch(branch.itemSchema(Infinity) ?? true);
  }

  open(): void {
    this.#allowsMore = true;
  }

  refuseObjects(): void {
    this.#takesObjects = false;
  }

  refuseLists(): void {
    this.#takesLists = false;
  }

  toReading(): Reading {
    const names = [...this.#named.keys()];
    const patterns = [...this.#patterns];
    const mayMatch = matcherOf(patterns);
    const declaresNothing = names.length === 0 && patterns.length === 0;
    const isOpenBranch = this.#hasOpenBranch && !this.#declaresItself;
    return {
      names: () => names,
      has: (name) => this.#named.has(name) || mayMatch(name),
      isOpen: this.#allowsMore || (!this.#isClosed && (declaresNothing || isOpenBranch)),
      hasPatterns: patterns.length > 0,
      schemaOf: (name) => (this.#named.get(name) ?? this.#others).schema,
      itemSchema: () => this.#items.schema,
      takesObjects: this.#takesObjects,
      takesLists: this.#takesLists,
      allowsMore: this.#allowsMore,
      others: this.#others.schema,
      patterns,
    };
  }

  #schemasOf(name: string): Schemas {
    const known = this.#named.get(name) ?? new Schemas();
    this.#named.set(name, known);
    return known;
  }
}

/** The schemas of one member: those that hold together, and those of which one holds. */
class Schemas {
  readonly #parts = new Set<JsonValue>();
  readonly #branches = new Set<JsonValue>();
  #joined: JsonObject | undefined;

  addPart(schema: JsonValue | undefined): void {
    if (schema !== undefined) this.#parts.add(schema);
  }

  addBranch(schema: JsonValue | undefined): void {
    if (schema !== undefined) this.#branches.add(schema);
  }

  /** One schema that declares the same. The same object each time, because what is read of it is remembered. */
  get schema(): JsonValue | undefined {
    if (this.#parts.size + this.#branches.size < 2) return [...this.#parts, ...this.#branches][0];
    this.#joined ??= { allOf: [...this.#parts], anyOf: [...this.#branches] };
    return this.#joined;
  }
}

/** With more, every name may match. */
const maxPatterns = 100;
/** The characters that every match begins with: no quantifier makes the last of them optional. */
const literalPrefix = /^\^((?:[\w-](?![?*{]))+)/;

/** Foreign patterns are not run here: their prefixes are compared, and what else a pattern says is left to validation. */
function matcherOf(patterns: readonly string[]): (name: string) => boolean {
  if (patterns.length > maxPatterns) return () => true;
  const prefixes = patterns.map((pattern) => (pattern.includes('|') ? undefined : literalPrefix.exec(pattern)?.[1]));
  return (name) => prefixes.some((prefix) => prefix === undefined || name.startsWith(prefix));
}

function othersOf(schema: JsonObject): JsonValue | undefined {
  return ownValue(schema, 'additionalProperties') ?? ownValue(schema, 'unevaluatedProperties');
}

function takesLists({ type, enum: choices, const: fixed }: JsonObject): boolean {
  return (type === undefined || [type].flat().includes('array')) && choices === undefined && fixed === undefined;
}

function takesObjects(schema: JsonObject): boolean {
  const { type, enum: choices, const: fixed } = schema;
  if (type !== undefined && ![type].flat().includes('object')) return false;
  if (Array.isArray(choices) && !choices.some((choice) => isJsonObject(choice))) return false;
  return fixed === undefined || isJsonObject(fixed);
}

/** A list in `items` was the tuple of older drafts. */
function tupleOf(schema: JsonObject): JsonValue[] {
  const tuple = listOf(schema, 'prefixItems');
  return tuple.length > 0 ? tuple : listOf(schema, 'items');
}

function furtherItems(schema: JsonObject): JsonValue | undefined {
  const items = ownValue(schema, 'items');
  return Array.isArray(items) ? ownValue(schema, 'additionalItems') : items;
}

function requiredNames(schema: JsonObject): string[] {
  return listOf(schema, 'required').filter((name) => typeof name === 'string');
}

function listOf(schema: JsonObject, key: string): JsonValue[] {
  const value = ownValue(schema, key);
  return Array.isArray(value) ? value : [];
}

function valuesOf(schema: JsonObject, key: string): JsonValue[] {
  const value = ownValue(schema, key);
  return isJsonObject(value) ? Object.values(value).filter((child) => child !== undefined) : [];
}
