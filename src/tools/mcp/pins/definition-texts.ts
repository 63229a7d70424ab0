import type { Tool as McpTool } from '@modelcontextprotocol/client';
import { limits } from '../../../core/limits.ts';
import type { Registry, ToolServerRecord } from '../../../core/stores/registry.ts';
import { isDeeperThan, isJsonObject, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';
import { maskOfEverythingSent } from '../../outgoing/secrets-to-mask.ts';
import { definitionParts, fingerprintOf, type DefinitionHashes, type ListedDefinition } from './definition-hashes.ts';

/** Characters of the pinned definitions of one server, as JSON, for comparison with changed ones. Beyond it only hashes are stored. */
export const mcpPinnedCharacters = 1024 * 1024;

export type FactStore = Pick<Registry, 'readFact' | 'writeFact'>;

/** The definitions that are pinned now. */
interface Pinned {
  /** Where the server is. */
  place: string;
  hashes: ReadonlyMap<string, DefinitionHashes>;
}

/**
 * Keeps pinned definitions word by word, so that an administrator sees what a changed one was; what counts are the hashes. Apart from them, because words
 * are read only where a definition has changed.
 */
interface DefinitionWords {
  read(record: ToolServerRecord, pinned: Pinned): Promise<Map<string, JsonObject>>;
  /** `said`: new words. Those that are no longer pinned go, and those for which there is no room are not kept. */
  save(record: ToolServerRecord, pinned: Pinned & { said: ReadonlyMap<string, ListedDefinition> }): Promise<void>;
}

interface Kept {
  /** The hash of these texts; another hash belongs to an earlier definition. */
  fingerprint: string;
  definition: JsonObject;
}

export function createDefinitionWords({ readFact, writeFact }: FactStore): DefinitionWords {
  async function readKept(record: ToolServerRecord, { place, hashes }: Pinned): Promise<[string, Kept][]> {
    const fact: unknown = JSON.parse((await readFact(factName(record))) ?? '{}');
    if (!isJsonObject(fact) || fact['place'] !== place || !isJsonObject(fact['words'])) return [];
    const kept = Object.entries(fact['words'] as Record<string, unknown>) as [string, Kept][];
    return kept.filter(([name, { fingerprint }]) => fingerprint === fingerprintOf(hashes.get(name) ?? {}));
  }

  return {
    read: async (record, pinned) => new Map((await readKept(record, pinned)).map(([name, { definition }]) => [name, definition] as const)),
    async save(record, { place, hashes, said }) {
      const before = await readKept(record, { place, hashes });
      const mask = maskOfEverythingSent(record);
      const added = Array.from(said, ([name, { tool, hashes: now }]): [string, Kept] => [
        name,
        { fingerprint: fingerprintOf(now), definition: mask.value(wordsOf(tool)) },
      ]);
      let room = mcpPinnedCharacters;
      const words = [...new Map([...before, ...added])].filter(([, { definition }]) => {
        const { length } = JSON.stringify(definition);
        const fits = length <= room;
        if (fits) room -= length;
        return fits;
      });
      await writeFact(factName(record), JSON.stringify({ place, words: Object.fromEntries(words) }));
    },
  };
}

/** The parts of a definition that count. What is nested too deep to be read is left out. */
export function wordsOf(tool: McpTool): JsonObject {
  const parts = definitionParts.map((part) => [part, tool[part] as JsonValue | undefined] as const);
  return Object.fromEntries(parts.filter(([, value]) => value !== undefined && !isDeeperThan(value, limits.jsonDepth)));
}

function factName({ id }: ToolServerRecord): string {
  return `mcp definitions of ${id}, in words`;
}
