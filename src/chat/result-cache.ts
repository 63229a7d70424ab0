import type { Caller } from '../core/caller.ts';
import type { JsonObject, JsonValue } from '../core/json.ts';
import { limits } from '../core/limits.ts';
import type { Tool } from '../core/tool.ts';
import { canonicalJson } from './canonical-json.ts';

/** Results of functions that allow it (`cacheTtlMs`), by caller, function and arguments. Failures are never kept. */
export interface ResultCache {
  find(caller: Caller, tool: Tool, args: JsonObject): { value: JsonValue } | undefined;
  keep(entry: { caller: Caller; tool: Tool; args: JsonObject; value: JsonValue }): void;
}

interface Kept {
  value: JsonValue;
  characters: number;
  expires: number;
}

/** In memory; what was not used for the longest time goes first. */
export function createResultCache(now: () => number): ResultCache {
  const kept = new Map<string, Kept>();
  let characters = 0;

  function drop(key: string): void {
    characters -= kept.get(key)?.characters ?? 0;
    kept.delete(key);
  }

  return {
    find(caller, tool, args) {
      const key = tool.cacheTtlMs === undefined ? undefined : keyOf(caller, tool, args);
      const found = key === undefined ? undefined : kept.get(key);
      if (key === undefined || found === undefined) return undefined;
      kept.delete(key);
      kept.set(key, found);
      if (found.expires > now()) return { value: structuredClone(found.value) };
      drop(key);
      return undefined;
    },
    keep({ caller, tool, args, value }) {
      const key = tool.cacheTtlMs === undefined ? undefined : keyOf(caller, tool, args);
      if (key === undefined || tool.cacheTtlMs === undefined) return;
      drop(key);
      const size = key.length + JSON.stringify(value).length;
      if (size > limits.cachedResultsCharacters) return;
      kept.set(key, { value: structuredClone(value), characters: size, expires: now() + tool.cacheTtlMs });
      characters += size;
      for (const [oldest] of kept) {
        if (kept.size <= limits.cachedResults && characters <= limits.cachedResultsCharacters) return;
        drop(oldest);
      }
    },
  };
}

/** One caller never sees what another one's call gave. */
function keyOf(caller: Caller, tool: Tool, args: JsonObject): string | undefined {
  const key = JSON.stringify([caller.id, tool.kind, tool.server, tool.label, canonicalJson(args)]);
  return key.length > limits.cacheKeyCharacters ? undefined : key;
}
