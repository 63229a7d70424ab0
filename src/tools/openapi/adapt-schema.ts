import { isJsonObject, ownValue } from '../../core/json.ts';
import type { JsonObject, JsonValue } from '../../core/json.ts';
import { limits } from '../../core/limits.ts';
import { spendFrom, spendOnNames, type ConversionBudget, type Spend } from './conversion-budget.ts';
import { createNameChooser, rememberName } from './definition-names.ts';
import type { RecursionFinder } from './find-recursion.ts';
import { mergeSchemas } from './merge-schemas.ts';
import { choiceTags, tagFitting } from './name-choices.ts';
import { hasKeysBesideReference, spendOnKeywords } from './spend-on-keywords.ts';
import { OmittedOperation } from './operation.ts';
import { isReadOnly } from './read-only.ts';
import { referenceOf, resolveReference } from './resolve-references.ts';
import { completed, isNullable, listOf, nullableChoice, plainKeywords, withNull, withoutUnknownRequired } from './schema-keywords.ts';

/** The schemas of one function grew beyond what was allowed for them. */
export class SchemaTooLarge extends OmittedOperation {}

export interface AdapterOptions {
  document: JsonObject;
  isRecursive: RecursionFinder;
  /** Keep every reference as a definition, not only recursive ones: longer chains of inlining grow without measure. */
  keepsReferences: boolean;
  maxNodes: number;
  /** What all functions of a document share. */
  shared: SharedAdaptation;
}

/** An adapted schema, for whoever refers to it next. */
interface InlinedSchema {
  schema: JsonObject;
  nodes: number;
  /** What was spent on it; whoever takes it over spends as much, for that is what it adds to the function. */
  cost: number;
  height: number;
}

export interface SharedAdaptation {
  budget: ConversionBudget;
  /** By reference: hundreds of functions use the same few schemas. Only what holds no definition, for those belong to one function. */
  inlined: Map<string, InlinedSchema>;
}

/** Turns schemas of a document into JSON Schema for one function; all of them share its definitions. */
export interface SchemaAdapter {
  /** The schema itself, even where it is recursive: only further down does a recursive one become a reference to a definition. */
  adapt(schema: JsonValue | undefined): JsonObject;
  /** What `$defs` has to hold; empty when nothing is recursive. */
  definitions: JsonObject;
}

/** Where in the schema the adapter stands. */
interface Position {
  /**
   * References that were opened for the same value, through `allOf` and its like. Meeting one again asks for nothing new, and a validator
   * that followed it would never come back.
   */
  opened: readonly string[];
  depth: number;
}

/** @throws OmittedOperation for a reference that cannot be resolved, SchemaTooLarge beyond the limits. */
export function createSchemaAdapter(options: AdapterOptions): SchemaAdapter {
  const { shared } = options;
  const spend = spendFrom(shared.budget);
  const definitions: JsonObject = {};
  const names = new Map<string, string>();
  const freeName = createNameChooser();
  const waiting: { name: string; reference: string }[] = [];
  let nodes = 0;
  let deepest = 0;
  let pointers = 0;

  const count = (depth: number, added = { nodes: 1, cost: 1 }): void => {
    nodes += added.nodes;
    deepest = Math.max(deepest, depth);
    spend(added.cost);
    if (nodes > options.maxNodes) throw new SchemaTooLarge(`its parameters have more than ${options.maxNodes} schemas`);
    if (depth > limits.documentDepth) throw new OmittedOperation(`its parameters are nested deeper than ${limits.documentDepth} levels`);
  };

  /** A value of its own: a property, an item. */
  const adaptChild = (schema: JsonValue | undefined, depth: number): JsonObject => {
    if (!isJsonObject(schema)) {
      count(depth);
      return schema === false ? { not: {} } : {};
    }
    const reference = referenceOf(schema);
    if (reference === undefined || !(options.keepsReferences || options.isRecursive(reference))) return adaptWhole(schema, depth);
    count(depth);
    pointers += 1;
    const { description } = plainKeywords(schema);
    const pointer = { ...(description === undefined ? {} : { description }), $ref: `#/$defs/${define(reference)}` };
    return isNullable(schema) ? withNull(pointer) : pointer;
  };

  const define = (reference: string): string => {
    const known = names.get(reference);
    if (known !== undefined) return known;
    const name = freeName(reference);
    names.set(reference, name);
    definitions[name] = {};
    waiting.push({ name, reference });
    return name;
  };

  /** One after the other and not within each other, so that long chains of definitions are not taken for depth. */
  const writeDefinitions = (): void => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
      definitions[next.name] = adaptWhole({ $ref: next.reference }, 0);
  };

  const adaptWhole = (schema: JsonObject, depth: number): JsonObject =>
    withoutUnknownRequired(adaptHere(schema, { opened: [], depth }) ?? {});

  /** The same value as the schema around it. `undefined`: the schema leads back to itself. */
  const adaptHere = (schema: JsonObject, position: Position): JsonObject | undefined => {
    count(position.depth);
    const reference = referenceOf(schema);
    if (reference === undefined) return adaptOwn(schema, position);
    if (position.opened.includes(reference)) return undefined;
    spend(position.opened.length);
    const inner = { opened: [...position.opened, reference], depth: position.depth + 1 };
    const base = adaptTarget(reference, inner);
    if (base === undefined || !hasKeysBesideReference(schema, spend)) return base;
    const own = adaptOwn(schema, inner);
    const merged = completed(mergeSchemas(own, base, spend) ?? { ...own, allOf: [base] });
    return isNullable(schema) ? withNull(merged) : merged;
  };

  /** What a reference points at; `opened` ends with that reference. */
  const adaptTarget = (reference: string, position: Position): JsonObject | undefined => {
    const isSharable = position.opened.length === 1 && !options.keepsReferences;
    const known = isSharable ? shared.inlined.get(reference) : undefined;
    if (known !== undefined) {
      count(position.depth + known.height, known);
      return known.schema;
    }
    const before = { nodes, deepest, pointers, nodesLeft: shared.budget.nodesLeft };
    deepest = position.depth;
    const target = resolveReference(options.document, reference, spend);
    const schema = isJsonObject(target) ? adaptHere(target, position) : adaptChild(target, position.depth);
    if (schema !== undefined) rememberName(schema, reference);
    if (isSharable && schema !== undefined && pointers === before.pointers)
      shared.inlined.set(reference, {
        schema,
        nodes: nodes - before.nodes,
        cost: before.nodesLeft - shared.budget.nodesLeft,
        height: deepest - position.depth,
      });
    deepest = Math.max(deepest, before.deepest);
    return schema;
  };

  const adaptOwn = (schema: JsonObject, position: Position): JsonObject => {
    spendOnKeywords(schema, spend);
    let result: JsonObject = { ...plainKeywords(schema), ...adaptParts(schema, position.depth + 1) };
    for (const key of ['not', 'if', 'then', 'else']) {
      const branch = isJsonObject(ownValue(schema, key)) ? adaptBranch(schema[key], position) : undefined;
      if (branch !== undefined) result[key] = branch;
    }
    const together = listOf(schema, 'allOf').map((branch) => adaptBranch(branch, position));
    const choices: JsonObject[][] = [];
    for (const key of ['anyOf', 'oneOf'] as const) {
      const tags = choiceTags(schema, key, { document: options.document, spend });
      const branches = listOf(schema, key).map((branch, index) => {
        const adapted = adaptBranch(branch, position);
        const tag = adapted === undefined ? undefined : tagFitting(adapted, tags[index]);
        return adapted === undefined || tag === undefined ? adapted : joined(adapted, tag, spend);
      });
      const known = branches.filter((branch) => branch !== undefined).flatMap(choicesOf);
      // A choice that leads back to the schema itself admits whatever the schema admits.
      if (branches.includes(undefined) || known.length === 0) continue;
      const only = known.length === 1 ? known[0] : nullableChoice(known);
      if (only !== undefined) together.push(only);
      else choices.push(known);
    }
    const [first, second] = choices;
    if (first !== undefined) result['anyOf'] = first;
    if (second !== undefined) together.push({ anyOf: second });
    for (const branch of together) if (branch !== undefined) result = joined(result, branch, spend);
    const finished = completed(result);
    return isNullable(schema) ? withNull(finished) : finished;
  };

  const adaptBranch = (branch: JsonValue | undefined, position: Position): JsonObject | undefined =>
    isJsonObject(branch)
      ? adaptHere(branch, { opened: position.opened, depth: position.depth + 1 })
      : adaptChild(branch, position.depth + 1);

  const adaptParts = (schema: JsonObject, depth: number): JsonObject => {
    const parts: JsonObject = {};
    const removed = new Set<string>();
    for (const key of ['properties', 'patternProperties']) {
      const members = ownValue(schema, key);
      if (!isJsonObject(members)) continue;
      spendOnNames(Object.keys(members), spend);
      const entries = Object.entries(members).filter(([name, member]) => {
        if (isReadOnly(options.document, member, spend)) removed.add(name);
        return !removed.has(name);
      });
      parts[key] = Object.fromEntries(entries.map(([name, member]) => [name, adaptChild(member, depth)]));
    }
    const required = listOf(schema, 'required').filter((name) => typeof name === 'string' && !removed.has(name));
    if (required.length > 0) parts['required'] = required;
    const additional = ownValue(schema, 'additionalProperties');
    if (typeof additional === 'boolean') parts['additionalProperties'] = additional;
    if (isJsonObject(additional)) parts['additionalProperties'] = Object.keys(additional).length === 0 || adaptChild(additional, depth);
    // A list in `items` was the tuple of older drafts.
    const tuple = [...listOf(schema, 'prefixItems'), ...listOf(schema, 'items')];
    if (tuple.length > 0) parts['prefixItems'] = tuple.map((item) => adaptChild(item, depth));
    for (const key of ['items', 'contains', 'propertyNames']) {
      const part = ownValue(schema, key);
      if (isJsonObject(part) || typeof part === 'boolean') parts[key] = adaptChild(part, depth);
    }
    return parts;
  };

  return {
    adapt(schema) {
      const adapted = isJsonObject(schema) ? adaptWhole(schema, 0) : adaptChild(schema, 0);
      writeDefinitions();
      return adapted;
    },
    definitions,
  };
}

/** A choice that is nothing but a choice itself (a union that may be null) adds its own to the list. */
function choicesOf(branch: JsonObject): JsonObject[] {
  const inner = branch['anyOf'];
  return Object.keys(branch).length === 1 && Array.isArray(inner) && inner.every(isJsonObject) ? inner : [branch];
}

function joined(outer: JsonObject, branch: JsonObject, spend: Spend): JsonObject {
  const merged = mergeSchemas(outer, branch, spend);
  if (merged !== undefined) return merged;
  const others = Array.isArray(outer['allOf']) ? outer['allOf'] : [];
  spend(others.length);
  return { ...outer, allOf: [...others, branch] };
}
