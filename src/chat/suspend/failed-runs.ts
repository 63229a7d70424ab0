import type { Caller } from '../../core/callers/caller.ts';
import type { ChatRequest } from '../../core/chat/chat.ts';
import type { RanCall, RunRepeat } from '../../core/runs/run-repeat.ts';
import {
  failedRunPrefix,
  type FailedRun,
  type RunProgress,
  type WaitingBounds,
  type WaitingRunStore,
} from '../../core/runs/suspended-run.ts';
import type { JsonObject } from '../../shared/json/json.ts';
import { allSources } from './all-sources.ts';
import type { RepeatKeys } from './repeat-keys.ts';

/** How long after its end a failed run can be continued: agents repeat a request within seconds, some after a minute. */
export const failedRunMs = 2 * 60 * 1000;

interface FailedRunsOptions {
  store: Pick<WaitingRunStore, 'save' | 'claimFailed' | 'callersWithFailed' | 'prune'>;
  keyOf: RepeatKeys;
  bounds: WaitingBounds;
  /** Milliseconds since 1970. */
  now: () => number;
  newId: () => string;
  onFault: (error: unknown) => void;
}

/**
 * Runs that failed by their backend's fault behind calls that write. Agents repeat a failed request, and would have these calls made again. Who has
 * such runs is in memory, so that the requests of all others are neither hashed nor looked up. No method rejects.
 */
export class FailedRuns {
  readonly #options: FailedRunsOptions;
  /** When the last failed run of a caller expires. */
  readonly #expiries = new Map<string, number>();
  /** Each request is hashed once: it is compared with every later one that comes while it is answered. */
  readonly #keys = new WeakMap<ChatRequest, Promise<string>>();

  constructor(options: FailedRunsOptions) {
    this.#options = options;
  }

  /** To be called once, before any request: failed runs of an earlier process. */
  async load(): Promise<void> {
    const { store, now, onFault } = this.#options;
    const found = await store.callersWithFailed(now()).catch((error: unknown) => {
      onFault(error);
      return [];
    });
    for (const { callerId, expires } of found) this.#expiries.set(callerId, expires);
  }

  keyOf(callerId: string, request: ChatRequest): Promise<string> {
    const key = this.#keys.get(request) ?? this.#options.keyOf(callerId, request);
    this.#keys.set(request, key);
    return key;
  }

  /** `request`: as the client has sent it. `behind`: the failed run that this one continues. */
  begin(run: { id: string; caller: Caller; request: ChatRequest } & RunProgress, behind: FailedRun | undefined): RunRepeat {
    return new StoredRepeat(run, behind, this);
  }

  /** Stores a run that has failed now. */
  async keep(failed: Omit<FailedRun, 'waitId' | 'expires'>): Promise<void> {
    const { now, newId } = this.#options;
    await this.putBack({ ...failed, waitId: newId(), expires: now() + failedRunMs });
  }

  /** Stores a run as it was. */
  async putBack(run: FailedRun): Promise<void> {
    const { store, bounds, now, onFault } = this.#options;
    try {
      await store.prune(now());
      if ((await store.save(run, bounds)).type !== 'saved') return;
    } catch (error) {
      onFault(error);
      return;
    }
    for (const [callerId, expires] of this.#expiries) if (expires <= now()) this.#expiries.delete(callerId);
    this.#expiries.set(run.callerId, Math.max(run.expires, this.#expiries.get(run.callerId) ?? 0));
  }

  mayHave(callerId: string): boolean {
    const expires = this.#expiries.get(callerId);
    return expires !== undefined && expires > this.#options.now();
  }

  async claim(key: string): Promise<FailedRun | undefined> {
    const { store, now, onFault } = this.#options;
    return store.claimFailed(key, now()).catch((error: unknown) => {
      onFault(error);
      return undefined;
    });
  }
}

class StoredRepeat implements RunRepeat {
  readonly #run: Parameters<FailedRuns['begin']>[0];
  readonly #behind: FailedRun | undefined;
  readonly #failedRuns: FailedRuns;
  /** The one that is answered now. */
  #request: ChatRequest;
  #isTaken = false;
  /** At first that of the run before, in case that this one fails before it asks the model. */
  #checkpoint: (() => JsonObject) | undefined;
  readonly #ran: Set<string>;
  #hasWritten: boolean;

  constructor(run: Parameters<FailedRuns['begin']>[0], behind: FailedRun | undefined, failedRuns: FailedRuns) {
    this.#run = run;
    this.#behind = behind;
    this.#failedRuns = failedRuns;
    this.#request = run.request;
    this.#ran = new Set(behind?.failed.ran);
    this.#hasWritten = behind !== undefined;
    if (behind !== undefined) this.#checkpoint = () => behind.loop;
  }

  get isBehind(): boolean {
    return this.#behind !== undefined;
  }

  takeCheckpoint(): ReturnType<RunRepeat['takeCheckpoint']> {
    if (this.#behind === undefined || this.#isTaken) return undefined;
    this.#isTaken = true;
    const { loop, sources, failed } = this.#behind;
    return { loop, sources, ran: failed.ran };
  }

  answers(request: ChatRequest): void {
    this.#request = request;
  }

  setCheckpoint(loop: (() => JsonObject) | undefined): void {
    this.#checkpoint = loop;
  }

  noteRan(calls: readonly RanCall[]): void {
    for (const { label, writes } of calls) {
      this.#ran.add(label);
      this.#hasWritten ||= writes;
    }
  }

  async keep(): Promise<void> {
    const { id, caller, request, sources, transcript } = this.#run;
    const loop = this.#hasWritten && request.resumesFailed !== false ? this.#checkpoint?.() : undefined;
    if (loop === undefined) return;
    await this.#failedRuns.keep({
      id: `${failedRunPrefix}${id}`,
      callerId: caller.id,
      model: request.model,
      request: this.#request,
      calls: [],
      sources: allSources(sources, this.#behind?.sources ?? []),
      loop,
      transcript: [...transcript],
      failed: { key: this.#behind?.failed.key ?? (await this.#failedRuns.keyOf(caller.id, request)), ran: [...this.#ran] },
    });
  }
}
