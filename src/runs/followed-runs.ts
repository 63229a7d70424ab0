import type { ChatEvent } from '../core/chat/chat.ts';
import { connectResponse } from '../chat/suspend/suspend-run.ts';
import type { RunContext } from '../core/runs/run.ts';
import { isWithin } from '../core/callers/people.ts';
import { waitAtMost, waitUnlessAborted } from '../shared/wait-for.ts';
import type { Emit } from '../shared/emit.ts';
import type { ConnectingCall } from '../core/user-input/connect.ts';
import type { DecidedCall } from '../core/runs/suspended-run.ts';
import type { ActiveRuns, StartedRun } from './active-runs.ts';
import { decisionData } from './approval-decisions.ts';

export interface FollowOptions {
  /** Of the client that reads the stream. */
  signal: AbortSignal;
  /** How long each suspension is waited for. */
  timeoutMs: number;
}

/** Resumes a run as soon as its caller has connected to all servers that it waits for; until the returned function is called. Must not throw. */
export type ResumeWhenConnected = (run: RunContext, servers: readonly string[]) => () => void;

/**
 * Lets the stream of a suspended run stay open, and go on with what the run emits once another request has resumed it, or its caller has connected.
 */
export interface FollowedRuns {
  /** The runs; each resumed one is also emitted to the stream that follows it. */
  runs: ActiveRuns;
  /** A run whose stream ends with the run, or when nobody decides in time. Only this end is emitted as its finish. */
  follow: (started: StartedRun, options: FollowOptions) => StartedRun;
  /** Ends the streams that wait for a decision: of one run, or all of them. */
  stopWaiting: (runId?: string) => void;
}

export function createFollowedRuns(active: ActiveRuns, resumeWhenConnected: ResumeWhenConnected): FollowedRuns {
  const followers = new Map<string, Follower>();

  async function streamParts(follower: Follower, started: StartedRun, { signal, timeoutMs }: FollowOptions): Promise<void> {
    await started.stream(follower.emit);
    for (let part = follower.takePart(); part !== undefined || follower.isWaiting; part = follower.takePart()) {
      if (part !== undefined) {
        await waitUnlessAborted(part, signal);
        continue;
      }
      const leave = follower.servers.length === 0 ? undefined : resumeWhenConnected(started.run, follower.servers);
      try {
        const isOver = !(await waitUnlessAborted(follower.untilNext(timeoutMs), signal));
        if (isOver) return await follower.finish();
      } finally {
        leave?.();
      }
    }
  }

  function stopAllOf(ownerId: string): void {
    for (const follower of followers.values()) if (isWithin(follower.callerId, ownerId)) follower.stop();
  }

  return {
    runs: {
      ...active,
      async resume(run, decided, who) {
        const started = await active.resume(run, decided, who);
        const follower = followers.get(started.run.runId);
        return follower === undefined
          ? started
          : toShared(started, follower, { decided: run.connect === undefined ? decided : [], connected: run.connect ?? [] });
      },
      cancelEvery(callerId, message) {
        const ended = active.cancelEvery(callerId, message);
        stopAllOf(callerId);
        return ended;
      },
      cancelAllOf(callerId) {
        const ended = active.cancelAllOf(callerId);
        stopAllOf(callerId);
        return ended;
      },
    },

    follow(started, options) {
      const { runId, caller } = started.run;
      async function stream(emit: Emit<ChatEvent>): Promise<void> {
        const follower = new Follower(caller.id, emit);
        followers.set(runId, follower);
        try {
          await streamParts(follower, started, options);
        } finally {
          follower.leave();
          followers.delete(runId);
        }
      }
      return { ...started, stream };
    },

    stopWaiting(runId) {
      for (const [id, follower] of followers) if (runId === undefined || id === runId) follower.stop();
    },
  };
}

function toShared(
  started: StartedRun,
  follower: Follower,
  responses: { decided: readonly DecidedCall[]; connected: readonly ConnectingCall[] },
): StartedRun {
  return { ...started, stream: (emit) => follower.share(started.stream, { ...responses, emit }) };
}

/** One stream over all parts of its run: from its start, and from each time it was resumed. */
class Follower {
  readonly callerId: string;
  readonly #emit: Emit<ChatEvent>;
  #hasLeft = false;
  #hasStopped = false;
  #isWaiting = false;
  /** Ends of the parts that have begun and were not taken yet. */
  readonly #parts: Promise<void>[] = [];
  #wake: () => void = () => undefined;
  #heldFinish: ChatEvent | undefined;
  #sources = 0;
  /** A resumed run emits its earlier sources again. */
  #repeatedSources = 0;
  #isBreakDue = false;

  constructor(callerId: string, emit: Emit<ChatEvent>) {
    this.callerId = callerId;
    this.#emit = emit;
  }

  /** The servers to connect to, if that is what is waited for. */
  servers: readonly string[] = [];

  /** Whether a link to decide or connect with was emitted last. Without a link nobody who reads this stream can do so. */
  get isWaiting(): boolean {
    return this.#isWaiting;
  }

  readonly emit: Emit<ChatEvent> = (events) => {
    const shown = events.flatMap((event) => this.#shown(event));
    return shown.length === 0 ? undefined : this.#emit(shown);
  };

  takePart(): Promise<void> | undefined {
    return this.#parts.shift();
  }

  /** Whether another part has begun within the time. */
  async untilNext(timeoutMs: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    if (this.#hasStopped || this.#parts.length > 0) resolve();
    await waitAtMost(timeoutMs, promise, () => undefined);
    return this.#parts.length > 0;
  }

  stop(): void {
    this.#hasStopped = true;
    this.#wake();
  }

  leave(): void {
    this.#hasLeft = true;
    this.stop();
  }

  async finish(): Promise<void> {
    if (this.#heldFinish !== undefined) await this.#emit([this.#heldFinish]);
  }

  /** Streams a resumed run to its own reader and into this stream, whose end does not end the run, and which gets the decisions first. */
  async share(
    stream: StartedRun['stream'],
    { decided, connected, emit }: { decided: readonly DecidedCall[]; connected: readonly ConnectingCall[]; emit: Emit<ChatEvent> },
  ): Promise<void> {
    if (this.#hasLeft) return stream(emit);
    this.#isWaiting = false;
    this.#repeatedSources = this.#sources;
    this.#isBreakDue = true;
    void this.#pass([
      ...decided.map((each): ChatEvent => ({ type: 'run-event', event: { type: 'approval.response', data: decisionData(each) } })),
      ...connected.map((call): ChatEvent => ({
        type: 'run-event',
        event: { type: 'connect.response', data: connectResponse(call, 'connected') },
      })),
    ]);
    const over = stream((events) => {
      const [own, following] = [emit(events), this.#pass(events)];
      return own === undefined ? following : Promise.all([own, following]).then(() => undefined);
    });
    // The error goes to whoever resumed the run, too.
    over.catch(() => undefined);
    this.#parts.push(over);
    this.#wake();
    return over;
  }

  #await(servers: readonly string[], hasLinks: boolean): void {
    this.servers = servers;
    this.#isWaiting = hasLinks;
  }

  #pass(events: readonly ChatEvent[]): Promise<void> | undefined {
    if (this.#hasLeft) return undefined;
    try {
      return this.emit(events)?.catch(() => this.leave());
    } catch {
      this.leave();
      return undefined;
    }
  }

  #shown(event: ChatEvent): ChatEvent[] {
    if (event.type === 'approval') this.#await([], event.approval.url !== undefined);
    if (event.type === 'connect') {
      const { servers } = event.connect;
      this.#await(
        servers.map(({ server }) => server),
        servers.every(({ url }) => url !== undefined),
      );
    }
    if (event.type === 'finish' && this.#isWaiting) {
      this.#heldFinish = event;
      return [];
    }
    if (event.type === 'source') {
      this.#repeatedSources -= 1;
      if (this.#repeatedSources >= 0) return [];
      this.#sources += 1;
    }
    if (event.type !== 'text' || event.text === '' || !this.#isBreakDue) return [event];
    this.#isBreakDue = false;
    return [{ type: 'text', text: '\n\n' }, event];
  }
}
