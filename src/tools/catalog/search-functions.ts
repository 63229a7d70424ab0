import { setImmediate as nextTurn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import MiniSearch from 'minisearch';
import type { ToolSpec } from '../../core/tools/tool.ts';
import { chooseLosses, sharesOf } from '../../shared/fairness/fair-shares.ts';
import { parameterWordsOf } from '../definitions/lazy-spec.ts';

/** Finds functions by keywords: resolves to up to `limit` indexes into the searched list, best match first. */
export type FunctionSearch = (query: string, limit: number) => Promise<number[]>;

/** Creates a search over a list of functions. `callerId`: the caller to whose share the cached index counts. */
type SearchFunctions = (specs: readonly ToolSpec[], callerId: string) => Promise<FunctionSearch>;

/** Characters of the conversation's end that are used as the query; more would only blur it. */
const maxQueryLength = 2_000;
/** Functions indexed per turn of the event loop: a few milliseconds. A thousand at once would block everything else. */
const indexedPerTurn = 64;
/**
 * Characters of one list that are searched, shared evenly by its functions: one word of a question is looked up without a pause, and may match every
 * word of a hostile list. It is enough for the names and one or two sentences of a thousand functions.
 */
const searchedCharacters = 250_000;
/** Characters of one function that are searched: more are a manual. */
const searchedCharactersEach = 4_000;
/** Cached indexes: one per set of tools that callers use at the same time. */
export const maxIndexes = 8;
/** Matches of words that are kept with an index, of twelve bytes each, so that the next question with such a word does not search for it. */
const keptMatches = 100_000;
/** What keeping a word takes besides, in matches. */
const matchesOfWord = 50;
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
  const share = Math.min(searchedCharactersEach, searchedCharacters / specs.length);
  for (let start = 0; start < specs.length; start += indexedPerTurn) {
    if (start > 0) await nextTurn();
    index.addAll(
      specs.slice(start, start + indexedPerTurn).map((spec, offset) => {
        const name = spec.name.slice(0, share);
        // Half for what it does, and the rest for what it takes.
        const description = spec.description.slice(0, Math.max(0, share - name.length) / 2);
        const parameters = parameterWordsOf(spec, share - name.length - description.length);
        return { id: start + offset, name, description, parameters };
      }),
    );
  }
  const known = new LRUCache<string, Matches>({ maxSize: keptMatches, sizeCalculation: ({ ids }) => ids.length + matchesOfWord });
  const best = createRanking(specs.length);
  return async (query, limit) => {
    const found: Matches[] = [];
    for (const word of new Set(toWords(query.slice(-maxQueryLength)).map((text) => text.toLowerCase()))) {
      let matches = known.get(word);
      if (matches === undefined) {
        await nextTurn();
        const hits = index.search(word);
        matches = { ids: Uint32Array.from(hits, ({ id }) => Number(id)), scores: Float64Array.from(hits, ({ score }) => score) };
        known.set(word, matches);
      }
      found.push(matches);
    }
    return best(found, limit);
  };
}

/** The functions that one word matches. */
interface Matches {
  ids: Uint32Array;
  scores: Float64Array;
}

/** Ranks as the library does for several words: by the sum of the scores, times the number of words that match. */
function createRanking(size: number): (found: readonly Matches[], limit: number) => number[] {
  // For all questions the same, because a common word matches thousands of functions.
  const scores = new Float64Array(size);
  const words = new Uint32Array(size);
  const matching = new Uint32Array(size);
  const rankOf = (id: number): number => (scores[id] ?? 0) * (words[id] ?? 0);
  return (found, limit) => {
    let count = 0;
    for (const { ids, scores: added } of found) {
      for (let index = 0; index < ids.length; index += 1) {
        const id = ids[index] ?? 0;
        if (words[id] === 0) matching[count++] = id;
        words[id] = (words[id] ?? 0) + 1;
        scores[id] = (scores[id] ?? 0) + (added[index] ?? 0);
      }
    }
    const best: number[] = [];
    let least = -1;
    for (let index = 0; index < count; index += 1) {
      const id = matching[index] ?? 0;
      const rank = (scores[id] ?? 0) * (words[id] ?? 0);
      if (best.length >= limit && rank <= least) continue;
      let place = best.length;
      while (place > 0 && rankOf(best[place - 1] ?? 0) < rank) place -= 1;
      best.splice(place, 0, id);
      best.length = Math.min(best.length, limit);
      least = rankOf(best.at(-1) ?? 0);
    }
    scores.fill(0);
    words.fill(0);
    return best;
  };
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

function isSameList(left: readonly ToolSpec[], right: readonly ToolSpec[]): boolean {
  return left === right || (left.length === right.length && left.every((spec, index) => spec === right[index]));
}
