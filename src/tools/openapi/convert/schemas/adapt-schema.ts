import { isJsonObject, ownValue } from '../../../../shared/json.ts';
import type { JsonObject, JsonValue } from '../../../../shared/json.ts';
import { limits } from '../../../../core/limits.ts';
import {
  BudgetSpent,
  spendFrom,
  spendOnNames,
  spendOnValue,
  textCost,
  type ConversionBudget,
  type Spend,
} from '../../conversion-budget.ts';
import { createNameChooser, rememberName } from './component-names.ts';
import type { KindFinder, Kinds } from './discriminator-kinds.ts';
import type { RecursionFinder } from './find-recursion.ts';
import { joinSchemas, mergeSchemas } from './merge-schemas.ts';
import { choiceTags, tagFitting } from './name-choices.ts';
import { OmittedOperation } from '../../../definitions/operation.ts';
import { resolveReference } from '../../document/resolve-references.ts';
import { referenceOf } from '../../../../shared/json-schema/resolve.ts';
import {
  choicesOf,
  completed,
  descriptionCharacters,
  isNullable,
  listOf,
  maxChoices,
  nullableChoice,
  plainKeywords,
  withNull,
  withoutUnknownRequired,
} from './schema-keywords.ts';

/** Keywords with lists, and keywords with values or texts of any length. */
const listKeywords = ['type', 'required', 'allOf', 'anyOf', 'oneOf', 'prefixItems', 'items'];
const valueKeywords = ['const', 'default', 'format', 'pattern', 'contentEncoding', 'contentMediaType'];

/** The schemas of one function grew beyond what was allowed for them. */
export class SchemaTooLarge extends OmittedOperation {}

/** What all functions of a document share. */
export interface SharedAdaptation {
  budget: ConversionBudget;
  kinds: KindFinder;
  /** By reference: hundreds of functions use the same few schemas. Only schemas without definitions, which belong to one function. */
  inlined: Map<string, InlinedSchema>;
  /** By reference: definitions of recursive schemas, for functions in which what they refer to has the same names. */
  recursive: Map<string, RecursiveDefinition>;
  /** By reference: how many nodes a schema has at least that turned out too large, so that it is not tried again by each function. */
  leastNodes: Map<string, number>;
}

/** An adapted schema, for the next reference to it. */
interface InlinedSchema {
  schema: JsonObject;
  nodes: number;
  /** What was spent on it. Each further use costs as much, for that is what it adds to the function. */
  cost: number;
  height: number;
}

/** A definition, and those that it refers to, in the order in which they were met. */
interface RecursiveDefinition {
  schema: JsonObject;
  nodes: number;
  cost: number;
  pointers: readonly { name: string; reference: string }[];
}

export interface AdapterOptions {
  document: JsonObject;
  isRecursive: RecursionFinder;
  /** Keep every reference as a definition, not only recursive ones: longer chains of inlining grow without measure. */
  keepsReferences: boolean;
  /** Of all schemas together; with `keepsReferences` of each definition, and of each schema that is adapted. */
  maxNodes: number;
  shared: SharedAdaptation;
  /** Where given, a definition that cannot be written is noted here by its name; else it is thrown. */
  problems?: Map<string, OmittedOperation>;
  /** What a definition is called where its name holds what must not be shown. */
  hide?: (name: string) => string;
}

/** Turns schemas of a document into JSON Schema for one function; all of them share its definitions. */
export interface SchemaAdapter {
  /** The schema itself, even where it is recursive: only further down does a recursive one become a reference to a definition. */
  adapt(schema: JsonValue | undefined): JsonObject;
  /** What `$defs` has to hold; empty when nothing is recursive. */
  definitions: JsonObject;
}

/** The adapter's position in the schema. */
interface Position {
  /**
   * References that were opened for the same value, through `allOf` and its like. Meeting one again asks for nothing new, and a validator
   * that followed it would never come back.
   */
  opened: readonly string[];
  /** Recursive references that were opened for the values around it. A choice or a part that leads back to one is a reference to a definition. */
  around: readonly string[];
  depth: number;
}

/** The value of a property or an item; what surrounds it is in `around`. */
type Place = Omit<Position, 'opened'>;

const outermost: Place = { around: [], depth: 0 };

/** @throws OmittedOperation for a reference that cannot be resolved, SchemaTooLarge beyond `maxNodes` or the depth of documents. */
export function createSchemaAdapter(options: AdapterOptions): SchemaAdapter {
  const { shared, problems, hide = (name: string) => name } = options;
  const spend = spendFrom(shared.budget);
  /** Bases whose kinds were written. A kind may hold its base again, which the document does not show by a reference. */
  const bases = new Set<string>();
  const definitions: JsonObject = {};
  const names = new Map<string, string>();
  const freeName = createNameChooser();
  const waiting: { name: string; reference: string }[] = [];
  let nodes = 0;
  /** From where `maxNodes` are counted. */
  let nodesBefore = 0;
  let deepest = 0;
  let pointers = 0;
  /** What the definition that is being written refers to. */
  let met: { name: string; reference: string }[] = [];

  const tooManyNodes = (): SchemaTooLarge => new SchemaTooLarge(`its parameters have more than ${options.maxNodes} schemas`);

  const count = (depth: number, added = { nodes: 1, cost: 1 }): void => {
    nodes += added.nodes;
    deepest = Math.max(deepest, depth);
    spend(added.cost);
    if (nodes - nodesBefore > options.maxNodes) throw tooManyNodes();
    if (depth > limits.documentDepth) throw new SchemaTooLarge(`its parameters are nested deeper than ${limits.documentDepth} levels`);
  };

  /** A value of its own: a property, an item. */
  const adaptChild = (schema: JsonValue | undefined, place: Place): JsonObject => {
    if (!isJsonObject(schema)) {
      count(place.depth);
      return schema === false ? { not: {} } : {};
    }
    const reference = referenceOf(schema);
    const isPointer =
      reference !== undefined && (options.keepsReferences || options.isRecursive(reference) || place.around.includes(reference));
    return isPointer ? pointTo(reference, schema, place.depth) : adaptWhole(schema, place);
  };

  const pointTo = (reference: string, schema: JsonObject, depth: number): JsonObject => {
    count(depth);
    pointers += 1;
    const name = define(reference);
    met.push({ name, reference });
    const { description } = plainKeywords(schema);
    const pointer = { ...(description === undefined ? {} : { description }), $ref: `#/$defs/${name}` };
    return isNullable(schema) ? withNull(pointer) : pointer;
  };

  const define = (reference: string): string => {
    const known = names.get(reference);
    if (known !== undefined) return known;
    const name = freeName(hide(reference));
    names.set(reference, name);
    definitions[name] = {};
    waiting.push({ name, reference });
    return name;
  };

  /** One after the other and not within each other, so that long chains of definitions are not taken for depth. */
  const writeDefinitions = (): void => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      try {
        definitions[next.name] = knownDefinition(next.reference) ?? writeDefinition(next.reference);
      } catch (error) {
        if (problems === undefined || error instanceof BudgetSpent || !(error instanceof OmittedOperation)) throw error;
        problems.set(next.name, error);
      }
    }
  };

  const knownDefinition = (reference: string): JsonObject | undefined => {
    const known = shared.recursive.get(reference);
    if (known === undefined || options.keepsReferences) return undefined;
    if (!known.pointers.every((pointer) => define(pointer.reference) === pointer.name)) return undefined;
    count(0, known);
    return known.schema;
  };

  const writeDefinition = (reference: string): JsonObject => {
    const before = { nodes, nodesLeft: shared.budget.nodesLeft };
    met = [];
    countAnew();
    const schema = adaptWhole({ $ref: reference }, outermost);
    const cost = before.nodesLeft - shared.budget.nodesLeft;
    if (!options.keepsReferences) shared.recursive.set(reference, { schema, nodes: nodes - before.nodes, cost, pointers: met });
    return schema;
  };

  const countAnew = (): void => {
    if (options.keepsReferences) nodesBefore = nodes;
  };

  const adaptWhole = (schema: JsonObject, place: Place): JsonObject =>
    withoutUnknownRequired(adaptHere(schema, { ...place, opened: [] }) ?? {});

  /** The same value as the schema around it. `undefined`: the schema leads back to itself. */
  const adaptHere = (schema: JsonObject, position: Position): JsonObject | undefined => {
    count(position.depth);
    const reference = referenceOf(schema);
    if (reference === undefined) return adaptOwn(schema, position);
    if (position.opened.includes(reference)) return undefined;
    spend(position.opened.length);
    const inner = { ...position, opened: [...position.opened, reference], depth: position.depth + 1 };
    const base = adaptTarget(reference, inner);
    const { length } = Object.keys(schema);
    if (base !== undefined) spend(length);
    if (base === undefined || length === 1) return base;
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
    if (isSharable && nodes + (shared.leastNodes.get(reference) ?? 0) > options.maxNodes) throw tooManyNodes();
    const before = { nodes, deepest, pointers, nodesLeft: shared.budget.nodesLeft };
    deepest = position.depth;
    const target = resolveReference(options.document, reference, spend);
    const schema = withinNodes(isSharable ? reference : undefined, before.nodes, () =>
      isJsonObject(target) ? adaptHere(target, position) : adaptChild(target, position),
    );
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

  /** Remembers of a reference whose schema turns out too large how large it is at least. */
  const withinNodes = <Result>(reference: string | undefined, nodesBefore: number, adapt: () => Result): Result => {
    try {
      return adapt();
    } catch (error) {
      if (reference !== undefined && error instanceof SchemaTooLarge && nodes > options.maxNodes)
        shared.leastNodes.set(reference, Math.max(shared.leastNodes.get(reference) ?? 0, nodes - nodesBefore));
      throw error;
    }
  };

  const adaptOwn = (schema: JsonObject, position: Position): JsonObject => {
    spendOnKeywords(schema, spend);
    const kinds = shared.kinds.find(schema, position.opened);
    const base = position.opened.at(-1);
    if (kinds !== undefined && base !== undefined) bases.add(base);
    let result: JsonObject = { ...plainKeywords(schema), ...adaptParts(schema, inside(position)) };
    for (const key of ['not', 'if', 'then', 'else']) {
      const branch = isJsonObject(ownValue(schema, key)) ? adaptBranch(schema[key], position) : undefined;
      if (branch !== undefined) result[key] = branch;
    }
    const together = listOf(schema, 'allOf').map((branch) => adaptBranch(branch, position));
    const choices: JsonObject[][] = [];
    for (const key of ['anyOf', 'oneOf'] as const) {
      const tags = choiceTags(schema, key, { document: options.document, spend });
      const branches = listOf(schema, key).map((branch, index) => {
        const adapted = adaptBranch(branch, position, true);
        const tag = adapted === undefined ? undefined : tagFitting(adapted, tags[index]);
        return adapted === undefined || tag === undefined ? adapted : joinSchemas(adapted, tag, spend);
      });
      const known = branches.filter((branch) => branch !== undefined).flatMap(choicesOf);
      // A choice that leads back to the schema itself admits whatever the schema admits.
      if (branches.includes(undefined) || known.length === 0) continue;
      const only = known.length === 1 ? known[0] : nullableChoice(known);
      if (only !== undefined) together.push(only);
      else choices.push(known);
    }
    if (kinds !== undefined) {
      // The members of its kinds are none of its own.
      delete result['additionalProperties'];
      if (kinds.isTooMany) result['additionalProperties'] = true;
      const [only, ...others] = adaptKinds(kinds, position);
      if (others.length === 0) together.push(only);
      else if (only !== undefined) choices.push([only, ...others]);
    }
    const [first, second] = choices;
    if (first !== undefined) result['anyOf'] = first;
    if (second !== undefined) together.push({ anyOf: second });
    for (const branch of together) if (branch !== undefined) result = joinSchemas(result, branch, spend);
    const finished = completed(result);
    return isNullable(schema) ? withNull(finished) : finished;
  };

  const adaptBranch = (branch: JsonValue | undefined, position: Position, isChoice = false): JsonObject | undefined => {
    const inner = { ...position, depth: position.depth + 1 };
    if (!isJsonObject(branch)) return adaptChild(branch, inner);
    const reference = referenceOf(branch);
    if (reference === undefined || position.opened.includes(reference)) return adaptHere(branch, inner);
    // Choices of a grammar lead to each other: written out within each other they would multiply, however deep that goes.
    const isKept = isChoice && position.around.length > 0 && options.isRecursive(reference);
    return isKept || position.around.includes(reference) ? pointTo(reference, branch, inner.depth) : adaptHere(branch, inner);
  };

  /** Written in what they add to their base. One that cannot be written costs itself alone. */
  const adaptKinds = ({ members, base }: Kinds, position: Position): JsonObject[] => {
    const adapted = base === undefined ? [] : [base];
    for (const [reference, tag] of members) {
      const kind = adaptKind(reference, position);
      if (kind === undefined) continue;
      // What closes a kind would forbid the members of its base here.
      const { additionalProperties: more, ...opened } = kind;
      const open = more === false ? opened : kind;
      adapted.push(tag === undefined ? open : joinSchemas(open, tag, spend));
    }
    return adapted;
  };

  const adaptKind = (reference: string, position: Position): JsonObject | undefined => {
    if (options.keepsReferences) return pointTo(reference, {}, position.depth + 1);
    try {
      return adaptBranch({ $ref: reference }, position, true);
    } catch (error) {
      if (error instanceof SchemaTooLarge || error instanceof BudgetSpent || !(error instanceof OmittedOperation)) throw error;
      return undefined;
    }
  };

  const inside = ({ opened, around, depth }: Position): Place => {
    const isRepeated = (reference: string): boolean => options.isRecursive(reference) || bases.has(reference);
    const recursive = opened.filter((reference) => !around.includes(reference) && isRepeated(reference));
    spend(opened.length + around.length);
    return { around: recursive.length === 0 ? around : [...around, ...recursive], depth: depth + 1 };
  };

  const adaptParts = (schema: JsonObject, place: Place): JsonObject => {
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
      parts[key] = Object.fromEntries(entries.map(([name, member]) => [name, adaptChild(member, place)]));
    }
    const required = listOf(schema, 'required').filter((name) => typeof name === 'string' && !removed.has(name));
    if (required.length > 0) parts['required'] = required;
    const additional = ownValue(schema, 'additionalProperties');
    if (typeof additional === 'boolean') parts['additionalProperties'] = additional;
    if (isJsonObject(additional)) parts['additionalProperties'] = Object.keys(additional).length === 0 || adaptChild(additional, place);
    // A list in `items` was the tuple of older drafts.
    const tuple = [...listOf(schema, 'prefixItems'), ...listOf(schema, 'items')];
    if (tuple.length > 0) parts['prefixItems'] = tuple.map((item) => adaptChild(item, place));
    for (const key of ['items', 'contains', 'propertyNames']) {
      const part = ownValue(schema, key);
      if (isJsonObject(part) || typeof part === 'boolean') parts[key] = adaptChild(part, place);
    }
    return parts;
  };

  return {
    adapt(schema) {
      countAnew();
      const adapted = isJsonObject(schema) ? adaptWhole(schema, outermost) : adaptChild(schema, outermost);
      writeDefinitions();
      return adapted;
    },
    definitions,
  };
}

/** Pays for what one schema may hold of any length besides the schemas in it: lists, choices, values and texts. */
function spendOnKeywords(schema: JsonObject, spend: Spend): void {
  for (const key of listKeywords) {
    const { length } = listOf(schema, key);
    if (length > 0) spend(length);
  }
  for (const key of valueKeywords) spendOnValue(ownValue(schema, key), spend);
  const description = ownValue(schema, 'description');
  if (typeof description === 'string') spend(textCost(description.slice(0, descriptionCharacters)));
  const choices = listOf(schema, 'enum');
  // More of them are left out without looking at each.
  if (choices.length <= maxChoices) for (const choice of choices) spendOnValue(choice, spend);
}

/** What only responses contain must not become an argument: the server would ignore or refuse it. */
export function isReadOnly(document: JsonObject, schema: JsonValue | undefined, spend: Spend): boolean {
  let current = schema;
  const seen = new Set<string>();
  while (isJsonObject(current)) {
    if (current['readOnly'] === true) return true;
    const reference = referenceOf(current) ?? referenceOf(onlyBranch(current));
    if (reference === undefined || seen.has(reference)) return onlyBranch(current)['readOnly'] === true;
    seen.add(reference);
    current = resolveReference(document, reference, spend);
  }
  return false;
}

/** `allOf` with one branch is how 3.0 documents put words beside a reference. */
function onlyBranch(schema: JsonObject): JsonObject {
  const branches = listOf(schema, 'allOf');
  const [branch] = branches;
  return isJsonObject(branch) && branches.length === 1 ? branch : {};
}
