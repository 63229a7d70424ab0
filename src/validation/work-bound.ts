import { findByPointer } from '../shared/json-pointer.ts';
import { isJsonObject } from '../shared/json.ts';
import type { JsonObject, JsonValue } from '../shared/json.ts';
import { patternCharacters, testedCharacters } from './compile-schema.ts';

/** Compiling costs about 0.1 ms a node. */
const smallSchemaNodes = 200;
const smallSchemaCharacters = 20_000;
/** RE2 instructions of all patterns; each costs about a microsecond to compile. */
const smallSchemaInstructions = 5_000;

/** A step stands for at most about 0.1 µs of the compiled check. */
const cheapSteps = 5_000;
/** Nesting of visited schemas; a reference may lead to itself. */
const maxDepth = 400;

/** Keywords below which keys are names and not keywords. */
const namedSchemas: ReadonlySet<string> = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);
const annotations: ReadonlySet<string> = new Set(['title', 'description', '$comment']);

/** Remaining steps; negative when the budget was exceeded. */
interface Budget {
  left: number;
}

/** Whether compiling the schema takes at most a few milliseconds. */
export function isSmallSchema(schema: JsonObject): boolean {
  const nodes = { left: smallSchemaNodes };
  const characters = { left: smallSchemaCharacters };
  const instructions = { left: smallSchemaInstructions };

  function measure(value: JsonValue | undefined, isNames: boolean): void {
    nodes.left -= 1;
    if (nodes.left < 0 || characters.left < 0) return;
    if (typeof value === 'string') characters.left -= value.length;
    if (typeof value !== 'object' || value === null) return;
    if (Array.isArray(value)) return eachItem(value, nodes, (child) => measure(child, false));
    for (const key in value) {
      const child = value[key];
      characters.left -= key.length;
      if (nodes.left < 0) return;
      if (!isNames && annotations.has(key) && typeof child === 'string') continue;
      if (!isNames && (key === 'enum' || key === 'const')) {
        countValues(child, characters, 1);
        continue;
      }
      if (!isNames && key === 'pattern' && typeof child === 'string') instructions.left -= instructionsOf(child);
      if (!isNames && key === 'patternProperties' && isJsonObject(child))
        for (const pattern of Object.keys(child)) instructions.left -= instructionsOf(pattern);
      measure(child, !isNames && namedSchemas.has(key));
    }
  }

  measure(schema, false);
  return nodes.left >= 0 && characters.left >= 0 && instructions.left >= 0;
}

/** Estimates the RE2 instructions of a pattern: RE2 expands counted repetitions. */
function instructionsOf(pattern: string): number {
  if (pattern.length > patternCharacters) return 1;
  let factor = 1;
  for (const [, least, most] of pattern.matchAll(/\{(\d+)(?:,(\d*))?\}/g)) factor *= Math.max(1, Number(least), Number(most ?? 0));
  // RE2 refuses more than a thousand repetitions, with nested ones multiplied.
  return pattern.length * Math.min(factor, 1_000);
}

/**
 * Whether checking the value takes at most a few hundred microseconds. Traverses schema and value together like the compiled check, counts its steps in
 * the worst case, and stops when the budget is used up: recursive combinators multiply the steps here as they do there.
 */
export function isCheapCheck(schema: JsonObject, value: JsonValue): boolean {
  const walk = { root: schema, left: cheapSteps, depth: 0 };
  visit(schema, value, walk);
  return walk.left >= 0;
}

interface Walk extends Budget {
  root: JsonObject;
  depth: number;
}

function visit(schema: JsonValue | undefined, value: JsonValue, walk: Walk): void {
  walk.left -= 1;
  if (walk.left < 0 || !isJsonObject(schema)) return;
  walk.depth += 1;
  if (walk.depth > maxDepth) walk.left = -1;
  for (const keyword in schema) {
    walk.left -= 1;
    if (walk.left < 0) break;
    const argument = schema[keyword];
    visitInPlace(keyword, argument, { value, walk });
    if (Array.isArray(value)) visitItems(keyword, argument, { value, walk });
    else if (isJsonObject(value)) visitFields(keyword, argument, { schema, value, walk });
    else if (typeof value === 'string') countText(keyword, argument, { value, walk });
  }
  walk.depth -= 1;
}

/** Keywords that apply to the value as a whole, or apply further schemas to it. */
function visitInPlace(keyword: string, argument: JsonValue | undefined, { value, walk }: { value: JsonValue; walk: Walk }): void {
  switch (keyword) {
    case 'allOf':
    case 'anyOf':
    case 'oneOf':
      return Array.isArray(argument) ? eachItem(argument, walk, (branch) => visit(branch, value, walk)) : undefined;
    case 'not':
    case 'if':
    case 'then':
    case 'else':
      return visit(argument, value, walk);
    case '$ref':
      if (typeof argument !== 'string') return;
      walk.left -= argument.length / 32;
      visit(findByPointer(walk.root, argument), value, walk);
      // Ajv copies the errors so far.
      walk.left -= (cheapSteps - walk.left) / 64;
      return;
    case 'enum':
    case 'const':
      return countValues(argument, walk);
  }
}

function visitItems(keyword: string, argument: JsonValue | undefined, { value, walk }: { value: JsonValue[]; walk: Walk }): void {
  switch (keyword) {
    case 'items':
    case 'contains':
    case 'unevaluatedItems':
    case 'prefixItems':
      return eachItem(value, walk, (item, index) => visit(Array.isArray(argument) ? argument[index] : argument, item, walk));
    case 'uniqueItems': {
      // Each item is compared with each other one.
      const before = walk.left;
      countValues(value, walk);
      walk.left -= ((before - walk.left) * value.length) / 8;
    }
  }
}

function visitFields(
  keyword: string,
  argument: JsonValue | undefined,
  { schema, value, walk }: { schema: JsonObject; value: JsonObject; walk: Walk },
): void {
  switch (keyword) {
    case 'properties':
    case 'dependentSchemas':
    case 'dependencies':
      if (!isJsonObject(argument)) return;
      for (const name in argument) {
        walk.left -= 1;
        if (!Object.hasOwn(value, name)) continue;
        visit(argument[name], keyword === 'properties' ? (value[name] ?? null) : value, walk);
      }
      return;
    case 'required':
    case 'dependentRequired':
      return countValues(argument, walk);
    case 'minProperties':
    case 'maxProperties':
      return eachField(value, walk, () => undefined);
    case 'propertyNames':
      return eachField(value, walk, (_, name) => visit(argument, name, walk));
    case 'patternProperties':
      if (!isJsonObject(argument)) return;
      for (const pattern in argument)
        eachField(value, walk, (child, name) => {
          countMatch(pattern, name, walk);
          visit(argument[pattern], child, walk);
        });
      return;
    case 'additionalProperties':
    case 'unevaluatedProperties': {
      const { properties } = schema;
      eachField(value, walk, (child, name) => {
        if (!isJsonObject(properties) || !Object.hasOwn(properties, name)) visit(argument, child, walk);
      });
    }
  }
}

function eachField(value: JsonObject, walk: Walk, look: (child: JsonValue, name: string) => void): void {
  for (const name in value) {
    walk.left -= 1;
    if (walk.left < 0) return;
    look(value[name] ?? null, name);
  }
}

function countText(keyword: string, argument: JsonValue | undefined, { value, walk }: { value: string; walk: Walk }): void {
  if (keyword === 'minLength' || keyword === 'maxLength') walk.left -= value.length / 64;
  if (keyword === 'pattern' && typeof argument === 'string') countMatch(argument, value, walk);
}

function countMatch(pattern: string, text: string, walk: Walk): void {
  if (text.length <= testedCharacters) walk.left -= ((text.length + 1) * instructionsOf(pattern)) / 4;
}

/** Takes one step for each value, and one for every `charactersPerStep` characters. */
function countValues(value: JsonValue | undefined, budget: Budget, charactersPerStep = 64): void {
  budget.left -= 1;
  if (budget.left < 0) return;
  if (typeof value === 'string') budget.left -= value.length / charactersPerStep;
  if (Array.isArray(value)) return eachItem(value, budget, (child) => countValues(child, budget, charactersPerStep));
  if (!isJsonObject(value)) return;
  for (const name in value) {
    if (budget.left < 0) return;
    countValues(value[name], budget, charactersPerStep);
  }
}

function eachItem(items: readonly JsonValue[], budget: Budget, look: (item: JsonValue, index: number) => void): void {
  for (let index = 0; index < items.length && budget.left >= 0; index += 1) look(items[index] ?? null, index);
}

/** Whether a value consists of at most this many values and characters. */
export function isWithin(value: JsonValue, { values, characters }: { values: number; characters: number }): boolean {
  const budget = { left: values };
  countValues(value, budget, characters / values);
  return budget.left >= 0;
}
