import type { RunEnding } from '../core/run-log.ts';
import type { RunContext } from '../core/run.ts';
import type { RunEvent } from '../core/run-event.ts';

/** The events of one run on their way to the session that its chat names. Neither function throws or waits. */
export interface SessionFeed {
  send(event: RunEvent): void;
  /** A run that failed or was cancelled has said no `run.end` itself. */
  end(ending: RunEnding): void;
}

/** Sends the events of chats that came over HTTP to the websocket session that they name (frames `event`). */
export interface SessionEvents {
  /** Undefined for a chat without a session. */
  open(run: Pick<RunContext, 'runId' | 'caller' | 'chatId' | 'messageId' | 'sessionId'>): SessionFeed | undefined;
}
