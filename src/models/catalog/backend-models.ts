import { GatewayError } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import type { ModelRecord } from '../../core/models/model.ts';
import type { CatalogBackend } from './catalog-backend.ts';

/** How long a model list is cached. */
export const modelListTtlMs = 30_000;
/** How long a failure is cached: a backend that hangs costs its two seconds no more often than this. */
const failureTtlMs = 5_000;
/** How long models of the last list are still found after listing fails; the chat will show whether the backend answers. */
const knownMs = 10 * 60 * 1000;

/** Why listing a backend's models failed. */
export interface ListFault {
  kind: 'unreachable' | 'key_refused' | 'secret_unreadable';
  message: string;
}

type Records = ReadonlyMap<string, ModelRecord>;

/** The cached list of one backend's models, by the backend's own ids. */
export class BackendModels {
  readonly source: CatalogBackend;
  readonly #now: () => number;
  /** Called when a list arrives after a failure. */
  readonly #onRecovery: () => void;
  #records: Records = new Map();
  /** The last successful list: a single late list must not turn chats into "no such model". */
  #known: Records = new Map();
  #knownAt = -Infinity;
  #listedAt = -Infinity;
  #fault: ListFault | undefined;
  #refresh: Promise<void> | undefined;

  constructor(source: CatalogBackend, { now, onRecovery }: { now: () => number; onRecovery: () => void }) {
    this.source = source;
    this.#now = now;
    this.#onRecovery = onRecovery;
  }

  /** Empty after a failure. */
  get records(): Records {
    return this.#records;
  }

  get fault(): ListFault | undefined {
    return this.#fault;
  }

  get ageMs(): number {
    return this.#now() - this.#listedAt;
  }

  get isDue(): boolean {
    return this.ageMs >= (this.#fault === undefined ? modelListTtlMs : failureTtlMs);
  }

  /** The list from before a failure; undefined without a failure, or when it is too old. */
  get knownRecords(): Records | undefined {
    return this.#fault !== undefined && this.#now() - this.#knownAt < knownMs ? this.#known : undefined;
  }

  /** Never rejects. */
  refresh(): Promise<void> {
    this.#refresh ??= this.#read();
    return this.#refresh;
  }

  async #read(): Promise<void> {
    const hadFailed = this.#fault !== undefined;
    const { records, fault } = await listWithin(this.source);
    this.#records = new Map(records.map((record) => [record.id, record]));
    this.#fault = fault;
    this.#listedAt = this.#now();
    if (fault === undefined) {
      if (hadFailed) this.#onRecovery();
      this.#known = this.#records;
      this.#knownAt = this.#listedAt;
    }
    this.#refresh = undefined;
  }
}

/** Never rejects. The time limit applies even if the listing ignores its signal. */
async function listWithin(source: CatalogBackend): Promise<{ records: ModelRecord[]; fault: ListFault | undefined }> {
  const deadline = new AbortController();
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const reason = new DOMException(`No answer within ${limits.modelListTimeoutMs / 1000} s`, 'TimeoutError');
    deadline.abort(reason);
    reject(reason);
  }, limits.modelListTimeoutMs);
  try {
    return { records: await Promise.race([source.list(deadline.signal), late]), fault: undefined };
  } catch (error) {
    return {
      records: [],
      fault: { kind: faultKindOf(error), message: error instanceof Error ? error.message : 'The list of models could not be read' },
    };
  } finally {
    clearTimeout(timer);
  }
}

function faultKindOf(error: unknown): ListFault['kind'] {
  if (!(error instanceof GatewayError)) return 'unreachable';
  if (error.code === 'upstream_auth_failed') return 'key_refused';
  return error.code === 'storage_unavailable' ? 'secret_unreadable' : 'unreachable';
}
