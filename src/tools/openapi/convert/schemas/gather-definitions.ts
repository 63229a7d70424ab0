import { isJsonObject, type JsonObject, type JsonValue } from '../../../../shared/json/json.ts';
import { nestedValues } from '../../document/resolve-references.ts';
import { referenceOf } from '../../../../shared/json-schema/resolve.ts';

/**
 * The whole schema of one function, as JSON: six times the largest in real documents, Kubernetes'. What is beyond it takes any value. Building
 * this much takes 20 ms.
 */
export const functionCharacters = 1_000_000;

const pointer = '#/$defs/';

/** The definitions that a schema refers to, each once, in the order in which they are met. */
export function definitionsIn(schema: JsonValue): string[] {
  const names = new Set<string>();
  for (const value of nestedValues(schema)) {
    const reference = isJsonObject(value) ? referenceOf(value) : undefined;
    if (reference?.startsWith(pointer) === true) names.add(reference.slice(pointer.length));
  }
  return [...names];
}

/** A definition as it is counted: its characters as JSON, and the definitions that it refers to, which are only asked for where there is room for it. */
export interface CountedDefinition {
  characters: number;
  targets(): readonly string[];
}

export interface GatheredDefinitions {
  names: string[];
  /** Those for which there is no room: they stay open, so that any value is taken for them. */
  open: string[];
  /** The characters of all of them, with their names. */
  characters: number;
  /** Their share of `functionCharacters`. */
  cost: number;
}

/** Characters of the frame of a definition: quotes, a colon and a comma. */
const frameCharacters = 4;
/** The cost of building a definition besides its text, in characters: thousands of small ones take as long as a few large ones. */
const definitionCost = 400;
/** For what has no room: any value. */
export const openDefinition: JsonObject = { description: 'Any value. Its schema is too large to be shown here.' };
const openCharacters = JSON.stringify(openDefinition).length;

/**
 * All definitions that these lead to, nearest first, as many as a function may have beside so many characters of its own
 * (`functionCharacters`).
 */
export function gatherDefinitions(
  { names, ownCharacters }: { names: readonly string[]; ownCharacters: number },
  find: (name: string) => CountedDefinition | undefined,
): GatheredDefinitions {
  const gathered: GatheredDefinitions = { names: [], open: [], characters: 0, cost: 0 };
  const waiting = new Set(names);
  // A set is iterated in the order of insertion, also over what is added meanwhile.
  for (const name of waiting) {
    const definition = find(name);
    if (definition === undefined) continue;
    const hasRoom = ownCharacters + gathered.cost + definitionCost + definition.characters <= functionCharacters;
    const characters = name.length + frameCharacters + (hasRoom ? definition.characters : openCharacters);
    gathered.characters += characters;
    gathered.cost += characters + (hasRoom ? definitionCost : 0);
    (hasRoom ? gathered.names : gathered.open).push(name);
    if (hasRoom) for (const target of definition.targets()) waiting.add(target);
  }
  return gathered;
}
