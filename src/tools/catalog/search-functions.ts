import MiniSearch from 'minisearch';

import type { JsonObject } from '../../shared/json.ts';
import { isJsonObject } from '../../shared/json.ts';
import type { ToolSpec } from '../../core/tool.ts';
import { chooseLosses, sharesOf } from '../../shared/fair-shares.ts';

/** Finds functions by words. Positions are those in the list the search was made from; best first, never more than `limit`. */
export type FunctionSearch = (query: string, limit: number) => number[];

/** Makes a search for a list of functions, for a caller who has a share of those that are kept. */
export type SearchFunctions = (specs: readonly ToolSpec[], callerId: string) => Promise<FunctionSearch>;

/** A conversation is searched by its last words; more of them only blur what is wanted. */
const maxQueryLength = 2_000;
/** Functions that are indexed in one turn of the event loop: some milliseconds. A thousand at once would hold up everybody. */
const indexedPerTurn = 64;
/** Indexes that are kept: one for each set of tools that callers use at the same time. */
export const keptIndexes = 8;
/** Words that stand in every question and in no function. */
const commonWords = new Set(
  'a about all an and any are as at be can could did do does for from get give had has have how i if in into is it its just let me my no not of on or our please show so some tell than that the their them then there these they this to us was we were what when where which who why will with would you your'.split(
    ' ',
  ),
);

/**
 * Lexical search over functions (BM25+ in its library's form): it needs no embeddings and works with any model. Names count most, then
 * descriptions, then the names and descriptions of parameters. An index is built once for a list of the same specs.
 */
export function createFunctionSearches(): SearchFunctions {
  /** Last used stands last. */
  let kept: { id: string; callerId: string; specs: readonly ToolSpec[]; search: Promise<FunctionSearch> }[] = [];
  let made = 0;
  return (specs, callerId) => {
    const known = kept.find((entry) => isSameList(entry.specs, specs));
    const entry = known ?? { id: String((made += 1)), callerId, specs, search: createSearch(specs) };
    kept = [...kept.filter((other) => other !== entry), entry];
    const shares = sharesOf(kept, () => 0);
    const lost = new Set(chooseLosses(shares, { entries: keptIndexes, characters: Infinity }).map(({ id }) => id));
    kept = kept.filter(({ id }) => !lost.has(id));
    return entry.search;
  };
}

async function createSearch(specs: readonly ToolSpec[]): Promise<FunctionSearch> {
  const index = new MiniSearch<{ id: number; name: string; description: string; parameters: string }>({
    fields: ['name', 'description', 'parameters'],
    tokenize: toWords,
    processTerm: toTerm,
    searchOptions: { boost: { name: 3, description: 1.5 }, prefix: (term) => term.length > 3, weights: { prefix: 0.4, fuzzy: 0.2 } },
  });
  const documents = specs.map(({ name, description, parameters }, id) => ({
    id,
    name,
    description,
    parameters: textOfParameters(parameters),
  }));
  await index.addAllAsync(documents, { chunkSize: indexedPerTurn });
  return (query, limit) =>
    index
      .search(query.slice(-maxQueryLength))
      .slice(0, limit)
      .map(({ id }) => Number(id));
}

/** `getIssueComments`, `get_issue_comments` and "get issue comments" are the same words. */
function toWords(text: string): string[] {
  return text
    .normalize('NFKD')
    .replaceAll(/\p{M}+/gu, '')
    .replaceAll(/(?<lower>[a-z0-9])(?<upper>[A-Z])/g, '$<lower> $<upper>')
    .split(/[^\p{L}\p{N}]+/u);
}

function toTerm(word: string): string | null {
  const term = word.toLowerCase();
  if (term.length < 2 || commonWords.has(term)) return null;
  return term.length > 3 ? term.replace(/(?:ies|y)$/, 'i').replace(/(?<=[^s])s$/, '') : term;
}

function textOfParameters(schema: JsonObject): string {
  const properties = isJsonObject(schema['properties']) ? schema['properties'] : {};
  return Object.entries(properties)
    .map(([name, property]) => {
      const description = isJsonObject(property) ? property['description'] : undefined;
      return typeof description === 'string' ? `${name} ${description}` : name;
    })
    .join(' ');
}

function isSameList(left: readonly ToolSpec[], right: readonly ToolSpec[]): boolean {
  return left.length === right.length && left.every((spec, index) => spec === right[index]);
}
