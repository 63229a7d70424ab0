import type { RunEvent } from '../../../core/run-event.ts';
import type { BrowserRelay } from '../../../relay/browser-relay.ts';
import type { SessionEvents } from '../../../runs/active-runs.ts';
import { createSessionOutbox } from './session-outbox.ts';
import { eventFrame } from './socket-wire.ts';

/** Frames that wait for a session on another replica; with more of them its events are given up, and the chat is not. */
const maxWaitingFrames = 1_000;

/** The relay sees to it that a session gets frames of its own caller alone. A session that is not there costs the chat nothing. */
export function createSessionEvents(relay: Pick<BrowserRelay, 'sendTo'>): SessionEvents {
  return {
    open({ runId, caller, chatId, messageId, sessionId }) {
      if (sessionId === undefined) return undefined;
      const outbox = createSessionOutbox(relay, sessionId, caller);
      let waiting = 0;
      let isGone = false;
      let hasEnded = false;

      const send = (event: RunEvent): void => {
        hasEnded ||= event.type === 'run.end';
        if (isGone) return;
        if (waiting >= maxWaitingFrames) {
          isGone = true;
          return;
        }
        waiting += 1;
        void outbox(eventFrame({ runId, chatId, messageId }, event)).then((isThere) => {
          isGone ||= !isThere;
          waiting -= 1;
        });
      };

      return {
        send,
        end(ending) {
          if (hasEnded || ending.status === 'completed' || ending.status === 'waiting') return;
          send({ type: 'run.end', data: { run_id: runId, status: ending.status, error: ending.error } });
        },
      };
    },
  };
}
