import type { ChatEvent } from '../../core/chat.ts';
import type { Emit } from '../../shared/emit.ts';
import type { JsonObject } from '../../shared/json.ts';

/** Lets the calls of a round emit while others do, in the order in which they come. */
export interface EventQueue {
  /**
   * Resolves when the events were delivered, or nobody reads on; never rejects. While the reader is slow, what one call says of its progress becomes
   * one event, so that at most one of a call waits here.
   */
  emit(events: readonly ChatEvent[]): Promise<void>;
  /** What is emitted from now on is dropped: a call may still say something after its round. Resolves when nothing is on its way any more. */
  close(): Promise<void>;
  /** Rejects with what the reader has thrown. */
  readonly failed: Promise<never>;
}

interface Waiting {
  events: ChatEvent[];
  /** Of a batch that is the progress of one call: what it may still be joined with. */
  progress?: JsonObject;
  delivered: PromiseWithResolvers<void>;
}

export function queueEvents(emit: Emit<ChatEvent>): EventQueue {
  let waiting: Waiting[] = [];
  let flushing: Promise<void> | undefined;
  let isClosed = false;
  const { promise: failed, reject } = Promise.withResolvers<never>();
  // Where nobody waits for anything just then, the next who does meets it.
  failed.catch(() => undefined);

  async function flush(): Promise<void> {
    // What is emitted at once goes together.
    await Promise.resolve();
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      try {
        if (!isClosed) await emit(batch.flatMap(({ events }) => events));
      } catch (error) {
        isClosed = true;
        reject(error);
      }
      for (const { delivered } of batch) delivered.resolve();
    }
    flushing = undefined;
  }

  return {
    failed,
    async close() {
      isClosed = true;
      await flushing;
    },
    emit(events) {
      const progress = progressIn(events);
      const known = progress && waiting.find((entry) => entry.progress?.['id'] === progress['id']);
      if (known !== undefined) {
        Object.assign(known.progress ?? {}, progress);
        return known.delivered.promise;
      }
      const delivered = Promise.withResolvers<void>();
      waiting.push(
        progress === undefined
          ? { events: [...events], delivered }
          : { events: [{ type: 'run-event', event: { type: 'tool.progress', data: progress } }], progress, delivered },
      );
      flushing ??= flush();
      return delivered.promise;
    },
  };
}

function progressIn([event, ...others]: readonly ChatEvent[]): JsonObject | undefined {
  const isProgress = others.length === 0 && event?.type === 'run-event' && event.event.type === 'tool.progress';
  return isProgress ? { ...event.event.data } : undefined;
}
