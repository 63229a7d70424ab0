import type { Caller } from '../core/callers/caller.ts';
import type { ChatMessage, ChatRequest } from '../core/chat/chat.ts';
import type { GatewayError } from '../core/errors.ts';
import { SlotTable } from '../shared/fairness/slot-table.ts';
import type { CancellableCalls } from './cancellable-calls.ts';
import { makeRoom, sizeOf, type HeldRequest } from './held-requests.ts';

export interface RunningRun extends HeldRequest {
  request: ChatRequest;
  transcript: readonly ChatMessage[];
  calls: CancellableCalls;
  end: RunEnd;
}

/** The active runs by their ids, and the memory that they take. */
export class RunningRuns {
  readonly #runs = new SlotTable<RunningRun>();
  readonly #mostCharacters: number;
  /** Requests that wait to begin. */
  readonly #waiting = new Set<HeldRequest>();
  #waitingCount = 0;
  #characters = 0;

  /** `mostCharacters`: the most that all runs may take together. */
  constructor(mostCharacters: number) {
    this.#mostCharacters = mostCharacters;
  }

  get count(): number {
    return this.#runs.size;
  }

  add(run: RunningRun): void {
    this.#runs.set(run.id, run);
    this.#characters += run.size;
  }

  end(run: RunningRun): void {
    this.#characters -= run.size;
    this.#runs.delete(run.id);
    run.end.reach();
  }

  /** The run, if this caller may see and cancel it. */
  find(runId: string, caller: Caller): RunningRun | undefined {
    const run = this.#runs.get(runId);
    return run !== undefined && mayAccess(run, caller) ? run : undefined;
  }

  requestsOf(callerId: string): ChatRequest[] {
    return this.#runs.values().flatMap((run) => (run.callerId === callerId ? [run.request] : []));
  }

  /** Aborts the runs that match, and returns them. */
  abort(matches: (run: RunningRun) => boolean, reason: GatewayError): RunningRun[] {
    const found = this.#runs.values().filter(matches);
    for (const { controller } of found) controller.abort(reason);
    return found;
  }

  /** Makes room for a new request, and returns its size. @throws GatewayError `overloaded` */
  requireRoom(request: ChatRequest, caller: Caller): number {
    const size = sizeOf(request);
    this.#makeRoom({ callerId: caller.id, size }, size);
    return size;
  }

  /** Counts memory that a run takes besides its request; less than 0 gives it back. @throws GatewayError `overloaded` */
  hold(run: RunningRun, characters: number): void {
    // It was ended to make room.
    if (run.size === 0) return;
    const size = run.size + characters;
    this.#makeRoom({ callerId: run.callerId, size }, characters, run);
    run.size = size;
    this.#characters += characters;
  }

  /** Counts a request that waits to begin, until the function is called that this returns. @throws GatewayError `overloaded` */
  holdWaiting(request: Omit<HeldRequest, 'id'>): () => void {
    this.#makeRoom(request, request.size);
    this.#waitingCount += 1;
    const waiting = { ...request, id: `waiting ${this.#waitingCount}` };
    this.#waiting.add(waiting);
    this.#characters += waiting.size;
    return () => {
      if (this.#waiting.delete(waiting)) this.#characters -= waiting.size;
    };
  }

  /** `added`: what is more than now; `own`: the run that takes it. */
  #makeRoom(request: Pick<HeldRequest, 'callerId' | 'size'>, added: number, own?: RunningRun): void {
    if (added <= 0 || this.#characters + added <= this.#mostCharacters) return;
    const held = [...this.#runs.values(), ...this.#waiting];
    makeRoom(
      held.filter((each) => each !== own),
      request,
      this.#mostCharacters,
    );
    this.#characters = held.reduce((sum, each) => sum + each.size, 0);
  }

  /** Resolves with true when no run of this id is active, or with false after `timeoutMs`. */
  async whenOver(runId: string, timeoutMs: number): Promise<boolean> {
    const run = this.#runs.get(runId);
    if (run === undefined) return true;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => resolve(false), timeoutMs);
    run.end.whenOver(() => resolve(true));
    const isOver = await promise;
    clearTimeout(timer);
    return isOver;
  }
}

/** Notifies callbacks of the end of one run. An `AbortController` would be more expensive than logging the whole run. */
export class RunEnd {
  #callbacks: (() => void)[] | undefined = [];

  /** `callback` must not throw; it is called at once if the run has ended already. */
  readonly whenOver = (callback: () => void): void => {
    if (this.#callbacks === undefined) callback();
    else this.#callbacks.push(callback);
  };

  reach(): void {
    const callbacks = this.#callbacks ?? [];
    this.#callbacks = undefined;
    for (const callback of callbacks) callback();
  }
}

/** Whether this caller may see and cancel a run; to any other caller it does not exist. */
export function mayAccess({ callerId }: { callerId: string }, caller: Caller): boolean {
  return callerId === caller.id || caller.role === 'admin';
}
