import MiniSearch from 'minisearch';

import type { JsonObject } from '../../shared/json.ts';
import { isJsonObject } from '../../shared/json.ts';
import type { ToolSpec } from '../../core/tool.ts';
import { chooseLosses, sharesOf } from '../../shared/fair-shares.ts';

/** Finds functions by keywords: returns up to `limit` indexes into the searched list, best match first. */
export type FunctionSearch = (query: string, limit: number) => number[];

/** Creates a search over a list of functions. `callerId`: the caller to whose share the cached index counts. */
export type SearchFunctions = (specs: readonly ToolSpec[], callerId: string) => Promise<FunctionSearch>;

/** Characters of the conversation's end that are used as the query; more would only blur it. */
const maxQueryLength = 2_000;
/** Functions indexed per turn of the event loop: a few milliseconds. A thousand at once would block everything else. */
const indexedPerTurn = 64;
/** Cached indexes: one per set of tools that callers use at the same time. */
export const maxIndexes = 8;
/** Stop words: common in questions, meaningless in functions. */
const stopWords = new Set(
  'a about all an and any are as at be can could did do does for from get give had has have how i if in into is it its just let me my no not of on or our please show so some tell than that the their them then there these they this to us was we were what when where which who why will with would you your'.split(
    ' ',
  ),
);

/**
 * Lexical search over functions (MiniSearch's BM25+): it needs no embeddings and works with any model. Names weigh most, then descriptions, then
 * names and descriptions of parameters. An index is reused for lists of the same spec objects.
 */
export function createFunctionSearches(): SearchFunctions {
  /** Least recently used first. */
  let indexes: { id: string; callerId: string; specs: readonly ToolSpec[]; search: Promise<FunctionSearch> }[] = [];
  let created = 0;
  return (specs, callerId) => {
    const known = indexes.find((entry) => isSameList(entry.specs, specs));
    const entry = known ?? { id: String((created += 1)), callerId, specs, search: createSearch(specs) };
    indexes = [...indexes.filter((other) => other !== entry), entry];
    const shares = sharesOf(indexes, () => 0);
    const evicted = new Set(chooseLosses(shares, { entries: maxIndexes, characters: Infinity }).map(({ id }) => id));
    indexes = indexes.filter(({ id }) => !evicted.has(id));
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

/** `getIssueComments`, `get_issue_comments` and "get issue comments" are split into the same words. */
function toWords(text: string): string[] {
  return text
    .normalize('NFKD')
    .replaceAll(/\p{M}+/gu, '')
    .replaceAll(/(?<lower>[a-z0-9])(?<upper>[A-Z])/g, '$<lower> $<upper>')
    .split(/[^\p{L}\p{N}]+/u);
}

function toTerm(word: string): string | null {
  const term = word.toLowerCase();
  if (term.length < 2 || stopWords.has(term)) return null;
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
