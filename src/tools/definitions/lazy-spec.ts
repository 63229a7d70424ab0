import type { ToolSpec } from '../../core/tools/tool.ts';
import { isJsonObject, type JsonObject } from '../../shared/json/json.ts';

/** Facts about a function whose schema has not been built. */
interface SpecSummary {
  /** Estimated tokens of the whole definition, as `estimateFunctionTokens` gives them. */
  readonly tokens: number;
  /** Names and descriptions of the arguments, for the search. Read once an index. */
  parameterWords(): string;
}

interface LazySpec extends SpecSummary {
  /** The whole schema. Called for each use of `parameters`, so it keeps what it has built; unless it is read only once (`isKept`: false). */
  build(isKept: boolean): JsonObject;
}

const lazySpecs = new WeakMap<ToolSpec, LazySpec>();

/**
 * A function whose schema is built when `parameters` is read: thousands of functions are known, searched and counted, and few are offered. Copying the
 * spec (`{...spec}`) reads it; `renamedSpec` does not.
 */
export function lazySpec({ name, description }: Pick<ToolSpec, 'name' | 'description'>, lazy: LazySpec): ToolSpec {
  const spec: ToolSpec = {
    name,
    description,
    get parameters() {
      return lazy.build(true);
    },
  };
  lazySpecs.set(spec, lazy);
  return spec;
}

/** The whole schema, for readers of all functions. Unlike the schemas that chats read, it is not cached. */
export function parametersOnce(spec: ToolSpec): JsonObject {
  return lazySpecs.get(spec)?.build(false) ?? spec.parameters;
}

/** The same function under another name; its schema is built no sooner than before. */
export function renamedSpec(spec: ToolSpec, name: string): ToolSpec {
  if (spec.name === name) return spec;
  const lazy = lazySpecs.get(spec);
  return lazy === undefined ? { ...spec, name } : lazySpec({ name, description: spec.description }, lazy);
}

export const charactersPerToken = 4;
/** Cached, because every chat needs the estimate of every function. */
const estimates = new WeakMap<ToolSpec, number>();

/** Estimates the tokens of a function definition at four characters per token; tokenizers differ by more than the error. Builds no schema. */
export function estimateFunctionTokens(spec: ToolSpec): number {
  const known = lazySpecs.get(spec)?.tokens ?? estimates.get(spec);
  if (known !== undefined) return known;
  const tokens = tokensOfDefinition(spec, JSON.stringify(spec.parameters).length);
  estimates.set(spec, tokens);
  return tokens;
}

/** The same for a schema of so many characters as JSON. */
export function tokensOfDefinition({ name, description }: Pick<ToolSpec, 'name' | 'description'>, schemaCharacters: number): number {
  const frame = JSON.stringify({ type: 'function', function: { name, description, parameters: 0 } }).length - 1;
  return Math.ceil((frame + schemaCharacters) / charactersPerToken);
}

/** Names and descriptions of a function's arguments, for the search, at most `room` characters. Builds no schema. */
export function parameterWordsOf(spec: ToolSpec, room: number): string {
  const words = lazySpecs.get(spec)?.parameterWords() ?? wordsOfParameters(spec.parameters, room);
  return words.slice(0, Math.max(0, room));
}

/** No more than `room` characters are needed. */
export function wordsOfParameters(schema: JsonObject, room: number): string {
  const properties = isJsonObject(schema['properties']) ? schema['properties'] : {};
  let words = '';
  for (const [name, property] of Object.entries(properties)) {
    if (words.length >= room) break;
    const description = isJsonObject(property) ? property['description'] : undefined;
    words += typeof description === 'string' ? `${name} ${description} ` : `${name} `;
  }
  return words;
}
