import { _, type Ajv2020, type CodeKeywordDefinition, type KeywordCxt, type Name } from 'ajv/dist/2020.js';
import { ExactNumber } from '../shared/json/exact-number.ts';
import { isJsonObject, type JsonValue } from '../shared/json/json.ts';

/** Thrown by a check that has used up its steps. A single instance, because a stack trace costs more than most checks. */
export class OutOfSteps extends Error {
  override readonly name = 'OutOfSteps';
}
const outOfSteps = new OutOfSteps('The check has taken more steps than it may.');

/** Counts the steps of one check after the other. A step takes about 0.1 µs. */
export class StepCounter {
  #taken = 0;
  #allowed = Number.POSITIVE_INFINITY;

  /** For the check that comes next. */
  allow(steps: number): void {
    this.#taken = 0;
    this.#allowed = steps;
  }

  /** @throws OutOfSteps */
  readonly take = (steps: number): void => {
    this.#taken += steps;
    if (this.#taken > this.#allowed) throw outOfSteps;
  };

  /** A reference may copy all errors so far, and each step may have made one. */
  readonly takeReference = (): void => this.take(1 + this.#taken / 64);

  /** A text whose characters are counted. */
  readonly takeText = (data: unknown): void => {
    if (typeof data === 'string') this.take(data.length / 16);
  };

  /** A list or an object whose members are looked at one by one, each `times` times. */
  readonly takeMembers = (data: unknown, times: number): void => {
    if (Array.isArray(data)) this.take(data.length * times);
    else if (typeof data === 'object' && data !== null) for (const _name in data) this.take(times);
  };

  /** A list whose items are compared with each other. */
  readonly takePairs = (data: unknown): void => {
    if (Array.isArray(data)) this.take((stepsOf(data as JsonValue) * data.length) / 8);
  };
}

/** To compare with a value as a whole. */
export function stepsOf(value: JsonValue | undefined): number {
  if (typeof value === 'string') return 1 + value.length / 64;
  if (value instanceof ExactNumber) return 1 + value.source.length / 64;
  let steps = 1;
  if (Array.isArray(value)) for (const item of value) steps += stepsOf(item);
  else if (isJsonObject(value)) for (const name in value) steps += stepsOf(value[name]);
  return steps;
}

const setOf = (keywords: string): ReadonlySet<string> => new Set(keywords.split(' '));
/** Keywords that go through all that they list. */
const listing = setOf('properties patternProperties dependentSchemas anyOf oneOf allOf prefixItems');
/** Keywords that hold no schemas, and go through every value in them. */
const holding = setOf('enum const required');
/** Keywords whose every error names all that they hold. */
const repeating = setOf('dependentRequired dependencies');
/** Keywords that go through the members of the checked value. */
const goingThrough = setOf(
  'items contains unevaluatedItems additionalProperties unevaluatedProperties propertyNames patternProperties minProperties maxProperties',
);

/**
 * Makes the code of every keyword count its steps, wherever in the schema the keyword stands: a check can then be ended when it has taken too many,
 * whatever schema and value are. What a pattern costs is counted where it is matched.
 */
export function countSteps(ajv: Ajv2020, counter: StepCounter): void {
  for (const [keyword, rule] of Object.entries(ajv.RULES.all)) {
    if (typeof rule !== 'object' || !('code' in rule.definition)) continue;
    const { code } = rule.definition as CodeKeywordDefinition;
    const counted = (context: KeywordCxt, type?: string): void => {
      countKeyword(keyword, context, counter);
      code(context, type);
    };
    Object.assign(rule.definition, { code: counted });
  }
}

function countKeyword(keyword: string, { gen, data, schema }: KeywordCxt, counter: StepCounter): void {
  const named = (take: unknown): Name => gen.scopeValue('keyword', { ref: take });
  if (keyword === '$ref') return void gen.code(_`${named(counter.takeReference)}()`);
  const entries = entriesOf(keyword, schema as JsonValue);
  gen.code(_`${named(counter.take)}(${entries})`);
  if (keyword === 'minLength' || keyword === 'maxLength') gen.code(_`${named(counter.takeText)}(${data})`);
  if (keyword === 'uniqueItems') gen.code(_`${named(counter.takePairs)}(${data})`);
  if (goingThrough.has(keyword)) gen.code(_`${named(counter.takeMembers)}(${data}, ${keyword === 'patternProperties' ? entries : 1})`);
}

function entriesOf(keyword: string, argument: JsonValue): number {
  if (holding.has(keyword)) return Math.ceil(stepsOf(argument));
  if (repeating.has(keyword)) return Math.ceil(stepsOf(argument) ** 2 / 8);
  return listing.has(keyword) && typeof argument === 'object' && argument !== null ? 1 + Object.keys(argument).length : 1;
}
