import type { ChatEvent } from '../../core/chat/chat.ts';
import type { RunContext } from '../../core/runs/run.ts';
import { isWithin } from '../../core/callers/people.ts';
import { waitAtMost, waitUnlessAborted } from '../../shared/async/wait-for.ts';
import type { Emit } from '../../shared/async/emit.ts';
import type { RunEvent } from '../../core/chat/run-event.ts';
import type { RunStage, StartedRun } from '../started-run.ts';
import { resumptionEvents } from './suspended-runs.ts';

export interface FollowOptions {
  /** Aborted when the client that reads the stream has left. */
  signal: AbortSignal;
  /** How long each suspension is waited for. */
  timeoutMs: number;
}

/** Resumes a run as soon as its caller has connected to all servers that it waits for; until the returned function is called. Must not throw. */
export type ResumeWhenConnected = (run: RunContext, servers: readonly string[]) => () => void;

/** Keeps the streams of suspended runs open, and continues them when another request has resumed the run, or its caller has connected. */
export interface FollowedRuns {
  /** Emits a resumed run also to the stream that follows it. */
  share: RunStage;
  /** A run whose stream ends with the run, or when nobody decides in time. Only this end is emitted as its finish. */
  follow(started: StartedRun, options: FollowOptions, resumeWhenConnected: ResumeWhenConnected): StartedRun;
  /** Ends the streams that wait: for this run, for the runs of this key and its people or of this caller, or for all. */
  stopWaiting(which: { runId?: string; ownerId?: string }): void;
}

/**
 * Open WebUI updates the message of a channel every 150 ms at most, and what comes sooner is shown with the chunk after it. The link is the last chunk
 * until somebody decides, so an empty one follows.
 */
const emptyChunkMs = 200;

export function createFollowedRuns(): FollowedRuns {
  const followers = new Map<string, Follower>();

  return {
    share(started, { resumed }) {
      const follower = followers.get(started.run.runId);
      if (follower === undefined || resumed === undefined) return started;
      const first = resumptionEvents(resumed.run, resumed.decided);
      return { ...started, stream: (emit) => follower.share(started.stream, { first, emit }) };
    },

    follow(started, { signal, timeoutMs }, resumeWhenConnected) {
      const { runId, caller } = started.run;
      async function streamParts(follower: Follower): Promise<void> {
        await started.stream(follower.emit);
        for (let part = follower.takePart(); part !== undefined || follower.isWaiting; part = follower.takePart()) {
          if (part !== undefined) {
            await waitUnlessAborted(part, signal);
            continue;
          }
          const emptyChunk = setTimeout(() => follower.emitNothing(), emptyChunkMs);
          const leave = follower.servers.length === 0 ? undefined : resumeWhenConnected(started.run, follower.servers);
          try {
            const isOver = !(await waitUnlessAborted(follower.untilNext(timeoutMs), signal));
            if (isOver) return await follower.finish();
          } finally {
            clearTimeout(emptyChunk);
            leave?.();
          }
        }
      }
      async function stream(emit: Emit<ChatEvent>): Promise<void> {
        const follower = new Follower(caller.id, emit);
        followers.set(runId, follower);
        try {
          await streamParts(follower);
        } finally {
          follower.leave();
          followers.delete(runId);
        }
      }
      return { ...started, stream };
    },

    stopWaiting({ runId, ownerId }) {
      for (const [id, follower] of followers) {
        const matches = (runId === undefined || id === runId) && (ownerId === undefined || isWithin(follower.callerId, ownerId));
        if (matches) follower.stop();
      }
    },
  };
}

/** One stream over all parts of its run: the first part, and one for each time it was resumed. */
class Follower {
  readonly callerId: string;
  readonly #emit: Emit<ChatEvent>;
  #hasLeft = false;
  #hasStopped = false;
  #isWaiting = false;
  /** The parts that have begun and were not taken yet; each resolves at its end. */
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

  /** Whether the last thing emitted is a link to decide or connect with. Without a link, nobody who reads this stream can do so. */
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

  /** Makes the stream carry a chunk that says nothing. */
  emitNothing(): void {
    void this.#pass([{ type: 'text', text: '', isNotice: true }]);
  }

  async finish(): Promise<void> {
    if (this.#heldFinish !== undefined) await this.#emit([this.#heldFinish]);
  }

  /** Streams a resumed run to its own reader and into this stream, whose end does not end the run, and which gets the decisions first. */
  async share(stream: StartedRun['stream'], { first, emit }: { first: readonly RunEvent[]; emit: Emit<ChatEvent> }): Promise<void> {
    if (this.#hasLeft) return stream(emit);
    this.#isWaiting = false;
    this.#repeatedSources = this.#sources;
    this.#isBreakDue = true;
    void this.#pass(first.map((event): ChatEvent => ({ type: 'run-event', event })));
    const over = stream((events) => {
      const [own, following] = [emit(events), this.#pass(events)];
      return own === undefined ? following : Promise.all([own, following]).then(() => undefined);
    });
    // The reader that resumed the run gets the error, too.
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
