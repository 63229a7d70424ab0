import { isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../shared/json/json.ts';
import { requiredNames } from './fits-schema.ts';
import { listOf, valuesOf } from './schema-lists.ts';

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

/** What one schema declares, with what a schema that has it as a part needs to know. */
export interface GatheredMembers extends DeclaredMembers {
  /** An object may be a value of the schema. */
  takesObjects: boolean;
  /** The same of a list. */
  takesLists: boolean;
  /** The schema says that further members are allowed. */
  allowsMore: boolean;
  /** The schema of members that are not declared by name. */
  others: JsonValue | undefined;
  patterns: readonly string[];
  /** How many items have schemas of their own; those behind them all have the same. */
  ownItems: number;
}

export const nothing: GatheredMembers = {
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
  ownItems: 0,
};
export const anything: GatheredMembers = { ...nothing, isOpen: true, takesObjects: true, takesLists: true, allowsMore: true };
/** Of a schema that is being read: one that leads back to itself adds nothing to itself. */
export const pending: GatheredMembers = { ...nothing, takesObjects: true };

/** Most schemas are like this, so nothing is copied. */
export function readPlain(schema: JsonObject): GatheredMembers {
  const stated = ownValue(schema, 'properties');
  const properties = isJsonObject(stated) ? stated : {};
  const required = new Set([...requiredNames(schema)].filter((name) => !Object.hasOwn(properties, name)));
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
    ownItems: tuple.length,
  };
}

/** Gathers what a schema declares that is made of several. */
export class ComposedMembers {
  readonly #named = new Map<string, Schemas>();
  readonly #others = new Schemas();
  readonly #items: ListPart[] = [];
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
    this.#declaresItself ||= names.length > 0 || required.size > 0 || this.#patterns.size > 0;
    const tuple = tupleOf(schema);
    const further = furtherItems(schema);
    if (tuple.length > 0 || further !== undefined)
      this.#items.push({ isBranch: isCondition, ownItems: tuple.length, itemSchema: (index) => tuple[index] ?? further });
    return names.length + required.size;
  }

  /** One of several schemas of which an object may have any. Returns the number of names. */
  addBranch(branch: GatheredMembers): number {
    const names = branch.names();
    for (const name of names) this.#schemasOf(name).addBranch(branch.schemaOf(name));
    for (const pattern of branch.patterns) this.#patterns.add(pattern);
    this.#allowsMore ||= branch.allowsMore;
    this.#hasOpenBranch ||= branch.isOpen;
    this.#others.addBranch(branch.others);
    return names.length;
  }

  /** One of several schemas of which a list may have any. Without a schema for its items, they may be anything. */
  addItems(branch: GatheredMembers): void {
    const { ownItems } = branch;
    this.#items.push({ isBranch: true, ownItems, itemSchema: (index) => branch.itemSchema(index) ?? true });
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

  toMembers(): GatheredMembers {
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
      itemSchema: itemsOf(this.#items),
      takesObjects: this.#takesObjects,
      takesLists: this.#takesLists,
      allowsMore: this.#allowsMore,
      others: this.#others.schema,
      patterns,
      ownItems: longest(this.#items),
    };
  }

  #schemasOf(name: string): Schemas {
    const known = this.#named.get(name) ?? new Schemas();
    this.#named.set(name, known);
    return known;
  }
}

/** What one of several schemas says of the items of a list: one that holds in any case, or a branch. */
interface ListPart {
  isBranch: boolean;
  ownItems: number;
  itemSchema(index: number): JsonValue | undefined;
}

function longest(parts: readonly ListPart[]): number {
  return parts.reduce((most, { ownItems }) => Math.max(most, ownItems), 0);
}

function itemsOf(parts: readonly ListPart[]): (index: number) => JsonValue | undefined {
  const known = new Map<number, Schemas>();
  const most = longest(parts);
  return (index) => {
    const place = Math.min(index, most);
    const schemas = known.get(place) ?? new Schemas();
    if (!known.has(place)) {
      for (const part of parts) {
        if (part.isBranch) schemas.addBranch(part.itemSchema(place));
        else schemas.addPart(part.itemSchema(place));
      }
      known.set(place, schemas);
    }
    return schemas.schema;
  };
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
