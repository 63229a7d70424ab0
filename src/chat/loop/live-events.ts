import type { JsonObject } from '../../shared/json.ts';
import type { ChatEvent } from '../../core/chat.ts';
import { limits } from '../../core/limits.ts';
import type { RunEvent } from '../../core/run-event.ts';

/** Lets calls that run tell something while the loop waits for their end. */
export interface LiveEvents {
  /**
   * Shows a call's progress. Resolves when it was delivered. What a call says faster than it is read becomes one event, so that at most one
   * event a call waits here.
   */
  progress(call: { id: string; tool: string }, data: JsonObject): Promise<void>;
  /** Shows an event, in the order in which they are told. */
  tell(event: RunEvent): void;
  /** The same for whoever tells many, and waits until each was delivered. */
  deliver(event: RunEvent): Promise<void>;
  /** The events until `pending` has settled, then its value. */
  until<Value>(pending: Promise<Value>): AsyncGenerator<ChatEvent, Value>;
  /** Nobody reads on: whoever waits for delivery goes on, and so does whoever comes later. */
  close(): void;
}

interface Waiting {
  data: JsonObject;
  delivered: PromiseWithResolvers<void>;
}

/** A question and its answer for each call of a round; whoever tells more is in a loop. */
const maxTold = 4 * limits.callsPerRound;

export function createLiveEvents(): LiveEvents {
  const told: { event: RunEvent; delivered?: PromiseWithResolvers<void> }[] = [];
  const waiting = new Map<string, Waiting>();
  let wake = Promise.withResolvers<void>();
  let isClosed = false;

  return {
    async progress({ id, tool }, data) {
      if (isClosed) return;
      const entry = waiting.get(id) ?? { data: { id, tool }, delivered: Promise.withResolvers<void>() };
      entry.data = { ...entry.data, ...data };
      waiting.set(id, entry);
      wake.resolve();
      await entry.delivered.promise;
    },
    tell(event) {
      if (isClosed || told.length >= maxTold) return;
      told.push({ event });
      wake.resolve();
    },
    async deliver(event) {
      if (isClosed) return;
      const delivered = Promise.withResolvers<void>();
      told.push({ event, delivered });
      wake.resolve();
      await delivered.promise;
    },
    async *until(pending) {
      let isSettled = false;
      const settled = pending.then(
        () => void (isSettled = true),
        () => void (isSettled = true),
      );
      for (;;) {
        for (let next = told.shift(); next !== undefined; next = told.shift()) {
          yield { type: 'run-event', event: next.event };
          next.delivered?.resolve();
        }
        const next = waiting.entries().next();
        if (next.done !== true) {
          const [id, { data, delivered }] = next.value;
          waiting.delete(id);
          yield { type: 'run-event', event: { type: 'tool.progress', data } };
          delivered.resolve();
        } else if (isSettled) return await pending;
        else {
          await Promise.race([settled, wake.promise]);
          wake = Promise.withResolvers<void>();
        }
      }
    },
    close() {
      isClosed = true;
      for (const { delivered } of [...waiting.values(), ...told]) delivered?.resolve();
      waiting.clear();
    },
  };
}
