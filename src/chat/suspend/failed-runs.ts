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

/** How long, besides the time that its calls may take, a run with tasks can be continued: a person comes back to a chat that a restart has cut off. */
const runWithTasksMs = 60 * 60 * 1000;

interface FailedRunsOptions {
  store: Pick<WaitingRunStore, 'save' | 'claimFailed' | 'callersWithFailed' | 'prune' | 'close'>;
  keyOf: RepeatKeys;
  bounds: WaitingBounds;
  /** The total time limit of a call. */
  callMs: number;
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

  /** Stores a run that has failed now, or has tasks that a restart would leave behind. */
  keep(run: Omit<FailedRun, 'waitId' | 'expires'>): Promise<boolean> {
    const { now, newId, callMs } = this.#options;
    const validMs = run.failed.hasTasks === true ? callMs + runWithTasksMs : failedRunMs;
    return this.putBack({ ...run, waitId: newId(), expires: now() + validMs });
  }

  async forget(id: string): Promise<void> {
    const { store, onFault } = this.#options;
    await store.close(id).catch(onFault);
  }

  /** Stores a run as it was. Returns whether there was room for it. */
  async putBack(run: FailedRun): Promise<boolean> {
    const { store, bounds, now, onFault } = this.#options;
    try {
      await store.prune(now());
      if ((await store.save(run, bounds)).type !== 'saved') return false;
    } catch (error) {
      onFault(error);
      return false;
    }
    for (const [callerId, expires] of this.#expiries) if (expires <= now()) this.#expiries.delete(callerId);
    this.#expiries.set(run.callerId, Math.max(run.expires, this.#expiries.get(run.callerId) ?? 0));
    return true;
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
  /** Until calls start or the model is asked, a repeated run continues as before. */
  #checkpoint: (() => JsonObject) | 'as_before' | undefined;
  readonly #ran: Set<string>;
  #hasWritten: boolean;
  /** The last storing of its tasks; absent if there is nothing to forget. */
  #keepingTasks: Promise<boolean> | undefined;

  constructor(run: Parameters<FailedRuns['begin']>[0], behind: FailedRun | undefined, failedRuns: FailedRuns) {
    this.#run = run;
    this.#behind = behind;
    this.#failedRuns = failedRuns;
    this.#request = run.request;
    this.#ran = new Set(behind?.failed.ran);
    this.#hasWritten = behind !== undefined;
    this.#checkpoint = behind && 'as_before';
  }

  get isBehind(): boolean {
    return this.#behind !== undefined;
  }

  takeCheckpoint(): ReturnType<RunRepeat['takeCheckpoint']> {
    if (this.#behind === undefined || this.#isTaken) return undefined;
    this.#isTaken = true;
    const { loop, sources, failed } = this.#behind;
    const { ran, hasTasks = false } = failed;
    return { loop, sources, ran, hasTasks };
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
    const checkpoint = this.#checkpoint;
    if (checkpoint === undefined || !this.#hasWritten || this.#run.request.resumesFailed === false) return;
    const asBefore = checkpoint === 'as_before' ? this.#behind : undefined;
    if (asBefore !== undefined) await this.#failedRuns.keep(asBefore);
    else if (checkpoint !== 'as_before') await this.#failedRuns.keep(await this.#asFailed(checkpoint(), { ran: [...this.#ran] }));
  }

  async keepTasks(loop: JsonObject, ran: readonly string[]): Promise<boolean> {
    if (this.#run.request.resumesFailed === false) return false;
    const failure = { ran: [...new Set([...this.#ran, ...ran])], hasTasks: true as const };
    this.#keepingTasks = this.#asFailed(loop, failure).then((run) => this.#failedRuns.keep(run));
    return this.#keepingTasks;
  }

  async forgetTasks(): Promise<void> {
    const keeping = this.#keepingTasks;
    if (keeping === undefined) return;
    this.#keepingTasks = undefined;
    await keeping;
    await this.#failedRuns.forget(this.#storedId);
  }

  get #storedId(): string {
    return `${failedRunPrefix}${this.#run.id}`;
  }

  async #asFailed(loop: JsonObject, failure: Omit<FailedRun['failed'], 'key'>): Promise<Omit<FailedRun, 'waitId' | 'expires'>> {
    const { caller, request, sources, transcript } = this.#run;
    return {
      id: this.#storedId,
      callerId: caller.id,
      model: request.model,
      request: this.#request,
      calls: [],
      sources: allSources(sources, this.#behind?.sources ?? []),
      loop,
      transcript: [...transcript],
      failed: { key: this.#behind?.failed.key ?? (await this.#failedRuns.keyOf(caller.id, request)), ...failure },
    };
  }
}
