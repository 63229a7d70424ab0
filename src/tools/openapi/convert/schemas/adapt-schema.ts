import { isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../../../shared/json/json.ts';
import { referenceOf } from '../../../../shared/json-schema/resolve.ts';
import { OmittedOperation } from '../../../definitions/operation.ts';
import { BudgetSpent, spendFrom, type Spend } from '../../conversion-budget.ts';
import { resolveReference } from '../../document/resolve-references.ts';
import { adaptParts, spendOnKeywords } from './adapt-parts.ts';
import { rememberName } from './component-names.ts';
import { NodeCounter, SchemaTooLarge } from './count-nodes.ts';
import type { Kinds } from './discriminator-kinds.ts';
import type { AdapterOptions } from './adapter-options.ts';
import { joinSchemas, mergeSchemas } from './merge-schemas.ts';
import { choiceTags, tagFitting } from './name-choices.ts';
import { PointedDefinitions } from './pointed-definitions.ts';
import {
  choicesOf,
  completed,
  isNullable,
  listOf,
  nullableChoice,
  plainKeywords,
  withNull,
  withoutUnknownRequired,
} from './schema-keywords.ts';

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

/** The position of the value of a property or an item; what surrounds it is in `around`. */
type ValuePosition = Omit<Position, 'opened'>;

const outermost: ValuePosition = { around: [], depth: 0 };

/**
 * Turns schemas of a document into JSON Schema for one function; all of them share its definitions.
 * @throws OmittedOperation for a reference that cannot be resolved, SchemaTooLarge beyond `maxNodes` or the depth of documents.
 */
export class SchemaAdapter {
  readonly #options: AdapterOptions;
  readonly #spend: Spend;
  readonly #counter: NodeCounter;
  readonly #pointed: PointedDefinitions;
  /** Bases whose kinds were written. A kind may hold its base again, which the document does not show by a reference. */
  readonly #bases = new Set<string>();

  constructor(options: AdapterOptions) {
    this.#options = options;
    this.#spend = spendFrom(options.shared.budget);
    this.#counter = new NodeCounter(options.maxNodes, this.#spend);
    this.#pointed = new PointedDefinitions(options.hide);
  }

  /** The content of `$defs`; empty if nothing is recursive. */
  get definitions(): JsonObject {
    return this.#pointed.definitions;
  }

  /** The schema itself, even where it is recursive: only further down does a recursive one become a reference to a definition. */
  adapt(schema: JsonValue | undefined): JsonObject {
    this.#countAnew();
    const adapted = isJsonObject(schema) ? this.#adaptWhole(schema, outermost) : this.#adaptChild(schema, outermost);
    this.#pointed.writeAll((reference) => this.#knownDefinition(reference) ?? this.#writeDefinition(reference), this.#options.problems);
    return adapted;
  }

  #countAnew(): void {
    if (this.#options.keepsReferences) this.#counter.startAnew();
  }

  #knownDefinition(reference: string): JsonObject | undefined {
    const known = this.#options.shared.recursive.get(reference);
    if (known === undefined || this.#options.keepsReferences) return undefined;
    if (!known.pointers.every((pointer) => this.#pointed.nameOf(pointer.reference) === pointer.name)) return undefined;
    this.#counter.count(0, known);
    return known.schema;
  }

  #writeDefinition(reference: string): JsonObject {
    const { keepsReferences, shared } = this.#options;
    const measure = this.#startMeasuring();
    this.#pointed.met = [];
    this.#countAnew();
    const schema = this.#adaptWhole({ $ref: reference }, outermost);
    if (!keepsReferences) shared.recursive.set(reference, { schema, ...measure(), pointers: this.#pointed.met });
    return schema;
  }

  /** Gives what has been counted and spent since. */
  #startMeasuring(): () => { nodes: number; cost: number } {
    const { budget } = this.#options.shared;
    const before = { nodes: this.#counter.nodes, nodesLeft: budget.nodesLeft };
    return () => ({ nodes: this.#counter.nodes - before.nodes, cost: before.nodesLeft - budget.nodesLeft });
  }

  /** A value of its own: a property, an item. */
  #adaptChild(schema: JsonValue | undefined, position: ValuePosition): JsonObject {
    if (!isJsonObject(schema)) {
      this.#counter.count(position.depth);
      return schema === false ? { not: {} } : {};
    }
    const { keepsReferences, isRecursive } = this.#options;
    const reference = referenceOf(schema);
    const isPointer = reference !== undefined && (keepsReferences || isRecursive(reference) || position.around.includes(reference));
    return isPointer ? this.#pointTo(reference, schema, position.depth) : this.#adaptWhole(schema, position);
  }

  #pointTo(reference: string, schema: JsonObject, depth: number): JsonObject {
    this.#counter.count(depth);
    return this.#pointed.pointTo(reference, schema);
  }

  #adaptWhole(schema: JsonObject, position: ValuePosition): JsonObject {
    return withoutUnknownRequired(this.#adaptHere(schema, { ...position, opened: [] }) ?? {});
  }

  /** The same value as the schema around it. `undefined`: the schema leads back to itself. */
  #adaptHere(schema: JsonObject, position: Position): JsonObject | undefined {
    this.#counter.count(position.depth);
    const reference = referenceOf(schema);
    if (reference === undefined) return this.#adaptOwn(schema, position);
    if (position.opened.includes(reference)) return undefined;
    this.#spend(position.opened.length);
    const inner = { ...position, opened: [...position.opened, reference], depth: position.depth + 1 };
    const base = this.#adaptTarget(reference, inner);
    const { length } = Object.keys(schema);
    if (base !== undefined) this.#spend(length);
    if (base === undefined || length === 1) return base;
    const own = this.#adaptOwn(schema, inner);
    const merged = completed(mergeSchemas(own, base, this.#spend) ?? { ...own, allOf: [base] });
    return isNullable(schema) ? withNull(merged) : merged;
  }

  /** The target of a reference; `opened` ends with that reference. */
  #adaptTarget(reference: string, position: Position): JsonObject | undefined {
    const { shared, keepsReferences, document } = this.#options;
    const isSharable = position.opened.length === 1 && !keepsReferences;
    const known = isSharable ? shared.inlined.get(reference) : undefined;
    if (known !== undefined) {
      this.#counter.count(position.depth + known.height, known);
      return known.schema;
    }
    if (isSharable) this.#counter.requireRoomFor(shared.leastNodes.get(reference) ?? 0);
    const before = { deepest: this.#counter.deepest, pointers: this.#pointed.pointers };
    const measure = this.#startMeasuring();
    this.#counter.deepest = position.depth;
    const target = resolveReference(document, reference, this.#spend);
    const schema = this.#noteSize(isSharable ? reference : undefined, () =>
      isJsonObject(target) ? this.#adaptHere(target, position) : this.#adaptChild(target, position),
    );
    if (schema !== undefined) rememberName(schema, reference);
    if (isSharable && schema !== undefined && this.#pointed.pointers === before.pointers)
      shared.inlined.set(reference, { schema, ...measure(), height: this.#counter.deepest - position.depth });
    this.#counter.deepest = Math.max(this.#counter.deepest, before.deepest);
    return schema;
  }

  /** Remembers how large a schema is at least that turns out too large. */
  #noteSize<Result>(reference: string | undefined, adapt: () => Result): Result {
    const { leastNodes } = this.#options.shared;
    const before = this.#counter.nodes;
    try {
      return adapt();
    } catch (error) {
      if (reference !== undefined && error instanceof SchemaTooLarge && this.#counter.isFull())
        leastNodes.set(reference, Math.max(leastNodes.get(reference) ?? 0, this.#counter.nodes - before));
      throw error;
    }
  }

  /** The keywords beside a reference, or of a schema without one. */
  #adaptOwn(schema: JsonObject, position: Position): JsonObject {
    spendOnKeywords(schema, this.#spend);
    const { document, shared } = this.#options;
    const kinds = shared.kinds.find(schema, position.opened);
    const base = position.opened.at(-1);
    if (kinds !== undefined && base !== undefined) this.#bases.add(base);
    const inner = this.#inside(position);
    const adaptChild = (child: JsonValue | undefined): JsonObject => this.#adaptChild(child, inner);
    let result: JsonObject = { ...plainKeywords(schema), ...adaptParts(schema, { document, spend: this.#spend, adaptChild }) };
    for (const key of ['not', 'if', 'then', 'else']) {
      const branch = isJsonObject(ownValue(schema, key)) ? this.#adaptBranch(schema[key], position) : undefined;
      if (branch !== undefined) result[key] = branch;
    }
    const together = listOf(schema, 'allOf').map((branch) => this.#adaptBranch(branch, position));
    const choices = this.#adaptChoices(schema, position, together);
    if (kinds !== undefined) {
      // The members of its kinds are not members of the schema itself.
      delete result['additionalProperties'];
      if (kinds.isTooMany) result['additionalProperties'] = true;
      const [only, ...others] = this.#adaptKinds(kinds, position);
      if (others.length === 0) together.push(only);
      else if (only !== undefined) choices.push([only, ...others]);
    }
    const [first, second] = choices;
    if (first !== undefined) result['anyOf'] = first;
    if (second !== undefined) together.push({ anyOf: second });
    for (const branch of together) if (branch !== undefined) result = joinSchemas(result, branch, this.#spend);
    const finished = completed(result);
    return isNullable(schema) ? withNull(finished) : finished;
  }

  /** The choices of `anyOf` and `oneOf`. Adds to `together` a choice that is the only one. */
  #adaptChoices(schema: JsonObject, position: Position, together: (JsonObject | undefined)[]): JsonObject[][] {
    const choices: JsonObject[][] = [];
    for (const key of ['anyOf', 'oneOf'] as const) {
      const tags = choiceTags(schema, key, { document: this.#options.document, spend: this.#spend });
      const branches = listOf(schema, key).map((branch, index) => {
        const adapted = this.#adaptBranch(branch, position, true);
        const tag = adapted === undefined ? undefined : tagFitting(adapted, tags[index]);
        return adapted === undefined || tag === undefined ? adapted : joinSchemas(adapted, tag, this.#spend);
      });
      const known = branches.filter((branch) => branch !== undefined).flatMap(choicesOf);
      // A choice that leads back to the schema itself admits whatever the schema admits.
      if (branches.includes(undefined) || known.length === 0) continue;
      const only = known.length === 1 ? known[0] : nullableChoice(known);
      if (only !== undefined) together.push(only);
      else choices.push(known);
    }
    return choices;
  }

  #adaptBranch(branch: JsonValue | undefined, position: Position, isChoice = false): JsonObject | undefined {
    const inner = { ...position, depth: position.depth + 1 };
    if (!isJsonObject(branch)) return this.#adaptChild(branch, inner);
    const reference = referenceOf(branch);
    if (reference === undefined || position.opened.includes(reference)) return this.#adaptHere(branch, inner);
    // Choices of a grammar lead to each other: written out within each other they would multiply, however deep that goes.
    const isPointer = isChoice && position.around.length > 0 && this.#options.isRecursive(reference);
    return isPointer || position.around.includes(reference)
      ? this.#pointTo(reference, branch, inner.depth)
      : this.#adaptHere(branch, inner);
  }

  /** The kinds with what they add to their base. One that cannot be written is omitted. */
  #adaptKinds({ members, base }: Kinds, position: Position): JsonObject[] {
    const adapted = base === undefined ? [] : [base];
    for (const [reference, tag] of members) {
      const kind = this.#adaptKind(reference, position);
      if (kind === undefined) continue;
      // `additionalProperties: false` of a kind would forbid the members of its base here.
      const { additionalProperties: more, ...opened } = kind;
      const open = more === false ? opened : kind;
      adapted.push(tag === undefined ? open : joinSchemas(open, tag, this.#spend));
    }
    return adapted;
  }

  #adaptKind(reference: string, position: Position): JsonObject | undefined {
    if (this.#options.keepsReferences) return this.#pointTo(reference, {}, position.depth + 1);
    try {
      return this.#adaptBranch({ $ref: reference }, position, true);
    } catch (error) {
      if (error instanceof SchemaTooLarge || error instanceof BudgetSpent || !(error instanceof OmittedOperation)) throw error;
      return undefined;
    }
  }

  #inside({ opened, around, depth }: Position): ValuePosition {
    const isRepeated = (reference: string): boolean => this.#options.isRecursive(reference) || this.#bases.has(reference);
    const recursive = opened.filter((reference) => !around.includes(reference) && isRepeated(reference));
    this.#spend(opened.length + around.length);
    return { around: recursive.length === 0 ? around : [...around, ...recursive], depth: depth + 1 };
  }
}
