import type { ChatEvent } from '../../core/chat/chat.ts';
import type { Emit } from '../../shared/async/emit.ts';
import type { DataOf } from '../../core/chat/run-event.ts';

/** Serializes the events of concurrent calls in the order in which they are emitted. */
interface EventQueue {
  /**
   * Resolves when the events were delivered or the reader is gone; never rejects. While the reader is slow, progress events of a call are merged, so
   * that at most one per call is queued.
   */
  emit(events: readonly ChatEvent[]): Promise<void>;
  /** Drops later events: a call may still emit some after its round. Resolves when all pending events have been delivered. */
  close(): Promise<void>;
  /** Rejects with the error that the reader has thrown. */
  readonly failed: Promise<never>;
}

interface QueuedBatch {
  events: ChatEvent[];
  /** Set for a batch that is one call's progress: the event into which later progress is merged. */
  progress?: DataOf<'tool.progress'>;
  delivered: PromiseWithResolvers<void>;
}

export function queueEvents(emit: Emit<ChatEvent>): EventQueue {
  let waiting: QueuedBatch[] = [];
  let flushing: Promise<void> | undefined;
  let isClosed = false;
  const { promise: failed, reject } = Promise.withResolvers<never>();
  // Prevents an unhandled rejection; the next caller that waits gets the error.
  failed.catch(() => undefined);

  async function flush(): Promise<void> {
    // Batches events that are emitted in the same tick.
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
      const known = progress && waiting.find((entry) => entry.progress?.id === progress.id);
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

function progressIn([event, ...others]: readonly ChatEvent[]): DataOf<'tool.progress'> | undefined {
  if (others.length > 0 || event?.type !== 'run-event' || event.event.type !== 'tool.progress') return undefined;
  // Each log message says something else.
  return event.event.data.level === undefined ? { ...event.event.data } : undefined;
}
