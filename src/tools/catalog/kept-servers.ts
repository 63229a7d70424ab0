import { LRUCache } from 'lru-cache';
import type { ToolServerRecord } from '../../core/stores/registry.ts';
import type { OfferedTo } from '../../core/tools/tool.ts';
import type { Candidate, SuppliedFunctions, Warning } from '../definitions/tool-source.ts';
import type { ChosenServer } from '../servers/choose-servers.ts';

/** Cached selections of servers: one for each set of `tool_ids` and of tools of a key in use at the same time. */
const keptSelections = 64;

/** What the selected registered servers supply to a request. */
export interface ServerSupply {
  /** The same for the same candidates. */
  id: number;
  /** These precede functions that the request brings. */
  candidates: readonly Candidate[];
  /** Of the bundled example server where nobody has asked for it: they come last, without those that the request's own servers have too. */
  lastCandidates: readonly Candidate[];
  warnings: readonly Warning[];
}

/** One of the selected servers. */
export interface SuppliedServer {
  server: ChosenServer;
  supplied: SuppliedFunctions;
  /** Its candidates are among `lastCandidates`. */
  isLast: boolean;
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
 * offered what the last one was offered. Only servers that do not supply the same to all callers, or that cannot be reached, are asked for each chat.
 */
export class KeptServers {
  readonly #kept = new LRUCache<string, KeptSelection>({ max: keptSelections });
  readonly #ids = { last: 0 };
  #records: readonly ToolServerRecord[] | undefined;
  #revision = -1;

  find(selection: Selection): KeptSelection | undefined {
    this.#forgetOthers(selection);
    return this.#kept.get(keyOf(selection));
  }

  keep(selection: Selection, servers: readonly SuppliedServer[]): KeptSelection {
    this.#forgetOthers(selection);
    const kept = new KeptSelection(servers, this.#ids);
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

/** Callers whose own functions are kept, for each selection. */
const keptCallers = 64;

/** What the servers of a selection supply to every caller, and which of them have to be asked for each. */
export class KeptSelection {
  /** The servers to ask. */
  readonly asked: readonly ChosenServer[];
  readonly #servers: readonly SuppliedServer[];
  /** Those that are asked, or have warnings. */
  readonly #noted: readonly SuppliedServer[];
  readonly #ids: { last: number };
  readonly #common: Omit<ServerSupply, 'warnings'>;
  /** By the id of the caller, where a server supplies functions to this caller. */
  readonly #own = new LRUCache<string, { candidates: readonly Candidate[]; supply: Omit<ServerSupply, 'warnings'> }>({ max: keptCallers });

  /** `ids`: of all supplies. */
  constructor(servers: readonly SuppliedServer[], ids: { last: number }) {
    this.#servers = servers;
    this.#ids = ids;
    this.#noted = servers.filter(({ supplied }) => isAsked(supplied) || supplied.warnings.length > 0);
    this.asked = this.#noted.filter(({ supplied }) => isAsked(supplied)).map(({ server }) => server);
    this.#common = this.#merge([]);
  }

  /** `answers`: what the asked servers supply to this caller, in their order. */
  supplyWith(answers: readonly SuppliedFunctions[], callerId: string): ServerSupply {
    if (this.#noted.length === 0) return { ...this.#common, warnings: noWarnings };
    const remaining = answers.values();
    const warnings = this.#noted.flatMap(({ supplied }) => (isAsked(supplied) ? remaining.next().value : supplied)?.warnings ?? []);
    const candidates = answers.flatMap((answer) => answer.candidates);
    if (candidates.length === 0) return { ...this.#common, warnings };
    const known = this.#own.get(callerId);
    const isSame = known?.candidates.length === candidates.length && known.candidates.every((one, index) => one === candidates[index]);
    const supply = isSame ? known.supply : this.#merge(answers);
    if (!isSame) this.#own.set(callerId, { candidates, supply });
    return { ...supply, warnings };
  }

  /** In the order of the servers. */
  #merge(answers: readonly SuppliedFunctions[]): Omit<ServerSupply, 'warnings'> {
    const remaining = answers.values();
    const parts = this.#servers.map(({ supplied, isLast }) => {
      const part = isAsked(supplied) ? remaining.next().value : supplied;
      return { isLast, candidates: part?.candidates ?? [] };
    });
    this.#ids.last += 1;
    return {
      id: this.#ids.last,
      candidates: parts.flatMap(({ isLast, candidates }) => (isLast ? [] : candidates)),
      lastCandidates: parts.flatMap(({ isLast, candidates }) => (isLast ? candidates : [])),
    };
  }
}

const noWarnings: readonly Warning[] = [];

function isAsked({ isForEverybody }: SuppliedFunctions): boolean {
  return isForEverybody !== true;
}

function keyOf({ toolIds, permitted, to }: Selection): string {
  return toolIds === undefined && permitted === undefined ? to : JSON.stringify([to, toolIds ?? null, permitted ?? null]);
}
