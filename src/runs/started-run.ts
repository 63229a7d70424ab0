import type { Caller } from '../core/callers/caller.ts';
import type { ChatEvent, ChatRequest } from '../core/chat/chat.ts';
import type { ReadRequestHeader } from '../core/chat/request-headers.ts';
import type { RunEvent } from '../core/chat/run-event.ts';
import type { RunEnding } from '../core/runs/run-log.ts';
import type { RunContext } from '../core/runs/run.ts';
import type { DecidedCall, WaitingRun } from '../core/runs/suspended-run.ts';
import type { Emit } from '../shared/async/emit.ts';
import type { RunStats } from './run-stats.ts';

/** Who starts or resumes a run. */
export interface RunStarter {
  caller: Caller;
  controller: AbortController;
  /** Reads the headers of the request that starts or resumes the run. They are not stored with a run that waits. */
  readHeader?: ReadRequestHeader | undefined;
  /** Where people reach the gateway, for links; absent where the chat request says so (`reply`). */
  address?: (() => string | undefined) | undefined;
}

/** A run that is registered and can be streamed. */
export interface StartedRun {
  run: RunContext;
  /** Starts the work; to be called once. Resolves at the end of the run, and rejects with the error that ends it. */
  stream: (emit: Emit<ChatEvent>) => Promise<void>;
  stats: RunStats;
  /** Seconds since 1970; the time under which the answer is stored. Default: now. */
  created?: number;
}

/** What a run answers, and for whom. `resumed`: present if it was suspended before. */
export interface RunOrigin {
  request: ChatRequest;
  who: RunStarter;
  resumed?: { run: WaitingRun; decided: readonly DecidedCall[] };
}

/** Does something more with the events of a run than its client, such as storing the answer. */
export type RunStage = (started: StartedRun, origin: RunOrigin) => StartedRun;

/** Forwards the events of one run to the session that its chat names. `send` and `end` neither throw nor wait. */
interface SessionFeed {
  send(event: RunEvent): void;
  /** Sends `run.end` for a run that failed or was cancelled, which has not emitted it itself. */
  end(ending: RunEnding): void;
}

/** Forwards the events of HTTP chats to the websocket session that they name, as frames `event`. */
export interface SessionEvents {
  /** Undefined for a chat without a session. */
  open(run: Pick<RunContext, 'runId' | 'caller' | 'chatId' | 'messageId' | 'sessionId'>): SessionFeed | undefined;
}
