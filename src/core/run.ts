import type { ApprovalRule } from './approval.ts';
import type { RunWait } from './suspended-run.ts';
import type { Caller } from './caller.ts';
import type { ChatMessage, InlineFile } from './chat.ts';
import type { PresetRecord } from './preset.ts';
import type { ModelRequestLog } from './model-request-log.ts';

/** What every part of one run may know about it. */
export interface RunContext {
  readonly runId: string;
  readonly caller: Caller;
  readonly chatId: string | undefined;
  readonly messageId: string | undefined;
  /** The websocket session that executes browser tools; it may be gone or another caller's. */
  readonly sessionId: string | undefined;
  /** Aborted when the caller leaves or the run is cancelled. */
  readonly signal: AbortSignal;
  /** The preset that answers just now. */
  readonly preset?: PresetRecord | undefined;
  /**
   * What the presets on the way to here demand: the acting one and those it is based on, those that handed off to it, and those that have called
   * it as a tool. The strictest holds.
   */
  readonly approvalRule?: ApprovalRule | undefined;
  /** Ids of the presets that wait for this one, the outermost first. */
  readonly presetPath?: readonly string[];
  /** Absent where nobody could name a call to cancel it, as when a single function is invoked. */
  readonly calls?: CallRegistry;
  /** What the request said; absent where there is no conversation, as when a single function is invoked. */
  readonly conversation?: Conversation;
  /** `notify` is called once the run has ended, however it did; absent where a run is a single call. */
  readonly whenOver?: (notify: () => void) => void;
  /** Present where the run may be suspended until somebody has decided; absent where its answer could not say so. */
  readonly wait?: RunWait | undefined;
  /** Absent where no log is kept. */
  readonly modelRequests?: ModelRequestLog | undefined;
}

export interface Conversation {
  /** As the request had it. */
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  readonly files: readonly InlineFile[];
}

/**
 * The calls of one run that have not settled yet, so that a single one can be cancelled from elsewhere
 * (`POST /api/runs/{id}/calls/{call_id}/cancel`). A call is registered before its `tool.call` event is emitted, and until it has settled: also
 * while it waits for its turn or for an approval.
 */
export interface CallRegistry {
  /**
   * `cancel` is called at most once and must not throw. A model may use an id twice in one run: then both are registered, and both are
   * cancelled. The returned function takes the entry away; calling it again does nothing.
   */
  register(callId: string, cancel: () => void): () => void;
}

/** `waiting`: for somebody's approval, also while other calls go on. The last three are final. */
export type RunStatus = 'running' | 'waiting' | 'completed' | 'failed' | 'cancelled';
