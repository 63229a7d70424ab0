import type { Caller } from '../../core/callers/caller.ts';
import { copyJson, type JsonObject, type JsonValue } from '../../shared/json/json.ts';
import type { Tool } from '../../core/tools/tool.ts';
import { FairMap } from '../../shared/fairness/fair-map.ts';
import { canonicalJson } from '../fit-calls/canonical-json.ts';

/** Results of functions with `cacheTtlMs`, over all callers. */
export const cachedResultsLimit = 1_000;

const cachedResultsCharacters = 16 * 1024 * 1024;
/** Results of calls with longer arguments are not cached. */
const cacheKeyCharacters = 4_096;

/** Caches results of functions that allow it (`cacheTtlMs`), by caller, function and arguments. Failures are never cached. */
export interface ResultCache {
  find(caller: Caller, tool: Tool, args: JsonObject): { value: JsonValue } | undefined;
  save(entry: { caller: Caller; tool: Tool; args: JsonObject; value: JsonValue }): void;
  /** Deletes the results of a key, including those of its people. */
  deleteAllOf: (ownerId: string) => void;
}

interface CachedResult {
  value: JsonValue;
  expires: number;
}

/** In memory, with a share for each caller, from which the least recently used entry is evicted first. */
export function createResultCache(now: () => number): ResultCache {
  const bounds = { entries: cachedResultsLimit, characters: cachedResultsCharacters };
  const cached = new FairMap<CachedResult>(bounds);

  return {
    find(caller, tool, args) {
      const key = tool.cacheTtlMs === undefined ? undefined : keyOf(caller, tool, args);
      const found = key === undefined ? undefined : cached.use(key);
      if (key === undefined || found === undefined) return undefined;
      if (found.expires > now()) return { value: copyJson(found.value) };
      cached.delete(key);
      return undefined;
    },
    save({ caller, tool, args, value }) {
      const key = tool.cacheTtlMs === undefined ? undefined : keyOf(caller, tool, args);
      if (key === undefined || tool.cacheTtlMs === undefined) return;
      cached.delete(key);
      const characters = key.length + JSON.stringify(value).length;
      if (characters > bounds.characters) return;
      cached.set(key, { owner: caller.id, value: { value: copyJson(value), expires: now() + tool.cacheTtlMs }, characters });
    },
    deleteAllOf: (ownerId) => void cached.deleteAllOf(ownerId),
  };
}

/** The caller is part of the key, so that no caller gets another one's result. */
function keyOf(caller: Caller, tool: Tool, args: JsonObject): string | undefined {
  const key = JSON.stringify([caller.id, tool.kind, tool.server, tool.label, canonicalJson(args)]);
  return key.length > cacheKeyCharacters ? undefined : key;
}
