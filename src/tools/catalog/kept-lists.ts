import { setImmediate as nextTick } from 'node:timers/promises';
import type { ListedTool, Tool } from '../../core/tools/tool.ts';
import { FairMap } from '../../shared/fairness/fair-map.ts';
import { charactersPerToken, estimateFunctionTokens, parametersOnce } from '../definitions/lazy-spec.ts';
import { nameInGroups, namedPerTurn, withinShare, type Named } from './named-functions.ts';
import type { NamedEntry } from '../definitions/name-functions.ts';
import type { Candidate } from '../definitions/tool-source.ts';
import { functionTokens } from './cut/cut-spec.ts';

/** Lists of functions that are kept with their texts, over all callers. Callers with the same functions share one. */
export const keptLists = 1_000;
/** Size of all of them. A list of GitHub's thousand functions takes eight million; a list that is dropped is made again. */
export const keptListsCharacters = 64 * 1024 * 1024;

interface KeptLists {
  /**
   * The list of these candidates: the same object as long as the candidates are the same, so that derived values can be cached by it. Callers with
   * the same candidates share a list; a candidate that only one caller may see is an object of its own. A long list is made over several ticks of the
   * event loop.
   */
  listOf(groups: readonly (readonly Candidate[])[], callerId: string): Promise<readonly ListedTool[]>;
  /** Drops lists that nobody has asked for in a while: they hold documents that may have been replaced. */
  dropUnused(): void;
  /** Drops the lists of a key and its people, or of one of them. */
  forgetAllOf(ownerId: string): void;
  close(): void;
}

interface Kept {
  /** Numbers of the candidates; groups are separated by -1. */
  numbers: readonly number[];
  list: readonly ListedTool[];
  usedAt: number;
}

interface MadeList {
  list: readonly ListedTool[];
  characters: number;
}

/** How long a list is kept without a reader. Clients read theirs when a conversation begins. */
const unusedMs = 10 * 60 * 1_000;
/** How often unused lists are dropped. */
const dropEveryMs = 60_000;
/** In all its texts, in which each function is written with its name, kind, path and answers. */
const textsOfList = 3;
const charactersOfFrame = 500;

/** @param elapsed milliseconds of a monotonic clock */
export function createKeptLists(elapsed: () => number): KeptLists {
  const kept = new FairMap<Kept>({ entries: keptLists, characters: keptListsCharacters });
  const numberOf = createNumbers();
  /** Lists that are being made, by their places. */
  const making = new Map<string, { numbers: readonly number[]; made: Promise<MadeList> }>();
  let dropping: NodeJS.Timeout | undefined;

  /** Once for all who ask at the same time. */
  async function make(key: string, numbers: readonly number[], groups: readonly (readonly Candidate[])[]): Promise<MadeList> {
    const begun = making.get(key);
    if (begun !== undefined && isSame(begun.numbers, numbers)) return begun.made;
    const made = toListedTools(nameInGroups(groups, new Set()));
    making.set(key, { numbers, made });
    try {
      return await made;
    } finally {
      if (making.get(key)?.made === made) making.delete(key);
    }
  }

  function dropUnused(): void {
    const time = elapsed();
    // Least recently used first.
    for (const [key, { usedAt }] of kept) {
      if (time - usedAt < unusedMs) return;
      kept.delete(key);
    }
  }

  return {
    dropUnused,
    async listOf(groups, callerId) {
      const numbers = groups.flatMap((group) => [...group.map(numberOf), -1]);
      const key = String(hashOf(numbers));
      const known = kept.use(key);
      if (known !== undefined && isSame(known.numbers, numbers)) {
        known.usedAt = elapsed();
        return known.list;
      }
      const { list, characters } = await make(key, numbers, groups);
      if (kept.get(key)?.list === list) return list;
      dropUnused();
      // A list that is larger than all are is kept all the same, so that its readers share it.
      const counted = Math.min(characters, keptListsCharacters / 2);
      dropping ??= setInterval(dropUnused, dropEveryMs).unref();
      kept.set(key, { owner: callerId, characters: counted, value: { numbers, list, usedAt: elapsed() } });
      return list;
    },
    forgetAllOf: (ownerId) => void kept.deleteAllOf(ownerId),
    close: () => clearInterval(dropping),
  };
}

/** Numbers stand for candidates, so that a list does not keep those that it does not need. */
function createNumbers(): (candidate: Candidate) => number {
  const numbers = new WeakMap<Candidate, number>();
  let last = 0;
  return (candidate) => {
    const known = numbers.get(candidate);
    if (known !== undefined) return known;
    last += 1;
    numbers.set(candidate, last);
    return last;
  };
}

/** Only finds the place: numbers are compared. */
function hashOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => (Math.imul(sum, 31) + number) | 0, numbers.length);
}

function isSame(one: readonly number[], other: readonly number[]): boolean {
  return one.length === other.length && one.every((number, index) => number === other[index]);
}

/** As they would be offered all together: where they do not fit whole, the largest are cut, and the function that describes them is listed too. */
async function toListedTools(named: Iterable<NamedEntry<Candidate>>): Promise<MadeList> {
  const whole: Named[] = [];
  for (const { name, entry } of named) {
    whole.push({ candidate: entry, tool: entry.toTool(name) });
    if (whole.length % namedPerTurn === 0) await nextTick();
  }
  const { all, describer } = withinShare(whole, new Set(whole.map(({ tool }) => tool.spec.name)));
  const list = all.map(({ candidate, tool }) => toListedTool(tool, candidate.id ?? tool.label));
  if (describer !== undefined) list.push({ ...toListedTool(describer, describer.label), helper: describer });
  const tokens = all.reduce((sum, { candidate, tool }) => sum + tokensOf(candidate, tool), 0);
  return { list, characters: textsOfList * (tokens * charactersPerToken + list.length * charactersOfFrame) };
}

function tokensOf({ spec }: Candidate, tool: Tool): number {
  if (tool.whole !== undefined) return functionTokens;
  return estimateFunctionTokens(spec ?? tool.spec);
}

function toListedTool(tool: Tool, id: string): ListedTool {
  const { spec, server, kind, outputSchema, presentation, isForApps, isReadOnly = false, isIdempotent = false, gateways = [] } = tool;
  const { name: offered, description } = spec;
  return {
    id,
    name: offered,
    description,
    // Most who list functions look for one by its name; the others read each once.
    get parameters() {
      return parametersOnce(spec);
    },
    ...(outputSchema !== undefined && { output: outputSchema }),
    ...(presentation !== undefined && { presentation }),
    server,
    kind,
    ...(isForApps && { isForApps }),
    hints: { isReadOnly, isIdempotent, gateways },
  };
}
