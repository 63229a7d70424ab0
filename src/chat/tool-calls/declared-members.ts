import { findByPointer } from '../../shared/json-pointer.ts';
import { isJsonObject, ownValue } from '../../shared/json.ts';
import type { JsonObject, JsonValue } from '../../shared/json.ts';
import { anything, ComposedMembers, nothing, pending, readPlain } from './gather-members.ts';
import type { DeclaredMembers, Reading } from './gather-members.ts';
import { createKindNarrower } from './narrow-to-kind.ts';
import { listOf, valuesOf } from './schema-lists.ts';

/** What the schema declares of `value`: where that says of which kind it is, only the members of its kind. */
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
  const known = new Map<JsonObject, Reading>();
  const budget = { stepsLeft: maxSteps };
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
      const reference = isJsonObject(schema) ? ownValue(schema, '$ref') : undefined;
      if (!isJsonObject(schema) || typeof reference !== 'string' || Object.keys(schema).length > 1) return schema;
      schema = findByPointer(root, reference);
    }
    return undefined;
  };

  const read = (stated: JsonValue | undefined): Reading => {
    const schema = targetOf(stated);
    if (schema === false) return nothing;
    if (!isJsonObject(schema)) return anything;
    budget.stepsLeft -= 1;
    const before = known.get(schema);
    isPartial ||= before === pending;
    if (before !== undefined) return before;
    if (budget.stepsLeft <= 0 || depth > maxDepth) return anything;
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
      if (budget.stepsLeft <= 0 || depth > maxDepth) return members.open();
      seen.add(part);
      depth += 1;
      budget.stepsLeft -= 1 + members.addPart(part, isCondition);
      const reference = ownValue(part, '$ref');
      const target = typeof reference === 'string' ? findByPointer(root, reference) : true;
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
        if (budget.stepsLeft <= 0) return members.open();
        const reading = read(branch);
        takesObjects ||= reading.takesObjects;
        takesLists ||= reading.takesLists;
        if (reading.takesObjects) budget.stepsLeft -= members.addBranch(reading);
        if (reading.takesLists) members.addItems(reading);
      }
      if (!takesObjects) members.refuseObjects();
      if (!takesLists) members.refuseLists();
    };
    addPart(schema, false);
    return members.toReading();
  };

  const narrow = createKindNarrower({ root, targetOf, takesObjects: (schema) => read(schema).takesObjects, budget });

  return (stated, value) => {
    const schema = targetOf(stated);
    return read(isJsonObject(value) && isJsonObject(schema) ? narrow(schema, value) : schema);
  };
}
