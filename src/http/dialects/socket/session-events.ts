import type { RunEvent } from '../../../core/chat/run-event.ts';
import type { BrowserRelay } from '../../../relay/browser-relay.ts';
import type { SessionEvents } from '../../../runs/started-run.ts';
import { createSessionOutbox } from './session-outbox.ts';
import { eventFrame } from './socket-wire.ts';

/** Frames that wait to be sent to another replica. Beyond it no more events are sent, but the chat continues. */
const maxWaitingFrames = 1_000;

/** The relay ensures that a session gets only frames of its own caller. A chat is not affected if its session does not exist. */
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
