import { LRUCache } from 'lru-cache';
import type { ToolServerRecord } from '../../core/stores/registry.ts';
import type { OfferedTo } from '../../core/tools/tool.ts';
import type { Candidate, Warning } from '../definitions/tool-source.ts';

/** Cached selections of servers: one for each set of `tool_ids` and of tools of a key in use at the same time. */
const keptSelections = 64;

/** What the selected registered servers supply to a request. */
export interface ServerSupply {
  /** Set where it is kept, and unique. */
  id?: number;
  /** These precede functions that the request brings. */
  candidates: readonly Candidate[];
  /** Of the bundled example server where nobody has asked for it: they come last, without those that the request's own servers have too. */
  lastCandidates: readonly Candidate[];
  warnings: readonly Warning[];
  /** Any caller gets the same, until a server changes. */
  isForEverybody: boolean;
}

interface Selection {
  /** Every registered server. */
  records: readonly ToolServerRecord[];
  /** Changes whenever a server was opened, failed or closed. */
  revision: number;
  toolIds: readonly string[] | undefined;
  /** What the caller's key permits. */
  permitted: readonly string[] | undefined;
  to: OfferedTo;
}

/**
 * Keeps what servers supply as long as no server changes: with a thousand servers, a chat would otherwise spend most of its time on finding that it is
 * offered what the last one was offered.
 */
export class KeptServers {
  readonly #kept = new LRUCache<string, ServerSupply>({ max: keptSelections });
  #records: readonly ToolServerRecord[] | undefined;
  #revision = -1;
  #lastId = 0;

  find(selection: Selection): ServerSupply | undefined {
    this.#forgetOthers(selection);
    return this.#kept.get(keyOf(selection));
  }

  /** Kept only where each server has been opened and supplies the same to all callers. Returns what to use. */
  keep(selection: Selection, supply: ServerSupply): ServerSupply {
    if (!supply.isForEverybody) return supply;
    this.#forgetOthers(selection);
    this.#lastId += 1;
    const kept = { ...supply, id: this.#lastId };
    this.#kept.set(keyOf(selection), kept);
    return kept;
  }

  #forgetOthers({ records, revision }: Selection): void {
    if (records === this.#records && revision === this.#revision) return;
    this.#kept.clear();
    this.#records = records;
    this.#revision = revision;
  }
}

function keyOf({ toolIds, permitted, to }: Selection): string {
  return toolIds === undefined && permitted === undefined ? to : JSON.stringify([to, toolIds ?? null, permitted ?? null]);
}
