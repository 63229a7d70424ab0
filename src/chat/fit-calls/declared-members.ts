import { findByPointer } from '../../shared/json-schema/pointer.ts';
import { isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../shared/json/json.ts';
import { anything, ComposedMembers, nothing, pending, readPlain, type DeclaredMembers, type GatheredMembers } from './gather-members.ts';
import { KindNarrower } from './narrow-to-kind.ts';
import { listOf, valuesOf } from './schema-lists.ts';

/** Reads what a schema declares. For a `value` that says of which kind it is, only the members of its kind. */
export type MemberReader = (schema: JsonValue | undefined, value?: JsonValue) => DeclaredMembers;

/** Schemas and names that are read for one call; each takes below a microsecond. Beyond them, and below this depth, every object is open. */
const maxSteps = 20_000;
const maxDepth = 200;
/** The most chained references; more mean a cycle. */
const maxHops = 8;
const conditions = ['if', 'then', 'else'];
const dependencies = ['dependentSchemas', 'dependencies'];
const compositions = new Set(['$ref', 'allOf', 'anyOf', 'oneOf', 'patternProperties', ...conditions, ...dependencies]);

/** Reads parts of the schema `root`, which has the definitions that references point to. */
export function createMemberReader(root: JsonObject): MemberReader {
  const reader = new SchemaReader(root);
  return (stated, value) => reader.read(stated, value);
}

class SchemaReader {
  readonly #root: JsonObject;
  readonly #known = new Map<JsonObject, GatheredMembers>();
  readonly #budget = { stepsLeft: maxSteps };
  readonly #narrower: KindNarrower;
  /** The targets of references. A reference may have megabytes, and be followed for each of thousands of values. */
  readonly #targets = new Map<JsonObject, JsonValue | undefined>();
  #depth = 0;
  /** Set where a schema led back to one that is being read. */
  #isPartial = false;

  constructor(root: JsonObject) {
    this.#root = root;
    const takesObjects = (schema: JsonValue): boolean => this.#gather(schema).takesObjects;
    this.#narrower = new KindNarrower({ root, targetOf: (stated) => this.#targetOf(stated), takesObjects, budget: this.#budget });
  }

  read(stated: JsonValue | undefined, value: JsonValue | undefined): DeclaredMembers {
    const schema = this.#targetOf(stated);
    return this.#gather(isJsonObject(value) && isJsonObject(schema) ? this.#narrower.narrow(schema, value) : schema);
  }

  #targetOf(stated: JsonValue | undefined): JsonValue | undefined {
    if (!isJsonObject(stated) || !Object.hasOwn(stated, '$ref')) return stated;
    if (!this.#targets.has(stated)) this.#targets.set(stated, this.#follow(stated));
    return this.#targets.get(stated);
  }

  #follow(stated: JsonObject): JsonValue | undefined {
    let schema: JsonValue | undefined = stated;
    for (let hop = 0; hop < maxHops; hop += 1) {
      const reference = isJsonObject(schema) ? ownValue(schema, '$ref') : undefined;
      if (!isJsonObject(schema) || typeof reference !== 'string' || Object.keys(schema).length > 1) return schema;
      schema = findByPointer(this.#root, reference);
    }
    return undefined;
  }

  #gather(stated: JsonValue | undefined): GatheredMembers {
    const schema = this.#targetOf(stated);
    if (schema === false) return nothing;
    if (!isJsonObject(schema)) return anything;
    this.#budget.stepsLeft -= 1;
    const before = this.#known.get(schema);
    this.#isPartial ||= before === pending;
    if (before !== undefined) return before;
    if (this.#isExhausted) return anything;
    this.#known.set(schema, pending);
    this.#depth += 1;
    const members = Object.keys(schema).some((key) => compositions.has(key)) ? this.#compose(schema) : readPlain(schema);
    this.#depth -= 1;
    if (this.#isPartial && this.#depth > 0) this.#known.delete(schema);
    else this.#known.set(schema, members);
    if (this.#depth === 0) this.#isPartial = false;
    return members;
  }

  get #isExhausted(): boolean {
    return this.#budget.stepsLeft <= 0 || this.#depth > maxDepth;
  }

  #compose(schema: JsonObject): GatheredMembers {
    const members = new ComposedMembers();
    this.#addPart(schema, false, { members, seen: new Set() });
    return members.toMembers();
  }

  #addPart(stated: JsonValue | undefined, isCondition: boolean, composed: Composition): void {
    const { members, seen } = composed;
    const part = this.#targetOf(stated);
    if (!isJsonObject(part) || seen.has(part)) return;
    if (this.#isExhausted) return members.open();
    seen.add(part);
    this.#depth += 1;
    this.#budget.stepsLeft -= 1 + members.addPart(part, isCondition);
    const reference = ownValue(part, '$ref');
    const target = typeof reference === 'string' ? findByPointer(this.#root, reference) : true;
    if (target === undefined) members.open();
    else this.#addPart(target, isCondition, composed);
    for (const inner of listOf(part, 'allOf')) this.#addPart(inner, isCondition, composed);
    for (const key of conditions) this.#addPart(ownValue(part, key), true, composed);
    for (const inner of dependencies.flatMap((key) => valuesOf(part, key))) this.#addPart(inner, true, composed);
    for (const key of ['anyOf', 'oneOf']) this.#addBranches(listOf(part, key), isCondition, members);
    this.#depth -= 1;
  }

  #addBranches(branches: readonly JsonValue[], isCondition: boolean, members: ComposedMembers): void {
    let takesObjects = branches.length === 0 || isCondition;
    let takesLists = takesObjects;
    for (const branch of branches) {
      if (this.#budget.stepsLeft <= 0) return members.open();
      const gathered = this.#gather(branch);
      takesObjects ||= gathered.takesObjects;
      takesLists ||= gathered.takesLists;
      if (gathered.takesObjects) this.#budget.stepsLeft -= members.addBranch(gathered);
      if (gathered.takesLists) members.addItems(gathered);
    }
    if (!takesObjects) members.refuseObjects();
    if (!takesLists) members.refuseLists();
  }
}

/** A schema whose parts are being added. `seen`: the parts so far. */
interface Composition {
  members: ComposedMembers;
  seen: Set<JsonObject>;
}
