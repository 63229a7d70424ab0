import type { ApprovalRule } from '../user-input/approval.ts';
import type { ReadRequestHeader } from '../chat/request-headers.ts';
import type { RunRepeat } from './run-repeat.ts';
import type { RunSuspension } from './suspended-run.ts';
import type { Caller } from '../callers/caller.ts';
import type { ChatMessage, InlineFile } from '../chat/chat.ts';
import type { AskClient } from '../user-input/elicitation.ts';
import type { PresetRecord } from '../stores/preset.ts';
import type { ModelRequestLog } from '../models/model-request-log.ts';
import type { ThoughtSealer } from '../chat/thought.ts';
import type { TraceOfRun } from './trace.ts';
import type { RecordedRequest } from './recorded-request.ts';

/** The run, as every part of the program that works on it sees it. */
export interface RunContext {
  readonly runId: string;
  readonly caller: Caller;
  readonly chatId: string | undefined;
  /** As in `ChatRequest`; read it with `conversationOf`. */
  readonly conversationId?: string | undefined;
  readonly messageId: string | undefined;
  /** The model as the client's request names it, whatever preset answers; absent when a single function is invoked. */
  readonly model?: string;
  /** The websocket session that executes browser tools; it may have ended or belong to another caller. */
  readonly sessionId: string | undefined;
  /** Where people reach the gateway, for links; undefined if that is not known. Absent where nobody is shown a link. */
  readonly address?: (() => string | undefined) | undefined;
  /** Present if the client that started the run answers questions itself. */
  readonly askClient?: AskClient | undefined;
  /** Headers of the request that the run answers, for tool servers that may have them; absent where no request of the caller is there. */
  readonly readHeader?: ReadRequestHeader | undefined;
  /** Aborted when the client disconnects or the run is cancelled. */
  readonly signal: AbortSignal;
  /** The preset that currently answers. */
  readonly preset?: PresetRecord | undefined;
  /** The ids of that preset and of those that it is based on. */
  readonly presetIds?: readonly string[];
  /**
   * The combined, strictest approval rule of the current preset, the presets it is based on, those that handed off to it, and those that called it
   * as a tool.
   */
  readonly approvalRule?: ApprovalRule | undefined;
  /** Present within a preset that was called as a tool. */
  readonly nested?: NestedRun;
  /** Absent when a single function is invoked, whose call cannot be cancelled by id. */
  readonly calls?: CallRegistry;
  /** Absent when a single function is invoked. */
  readonly conversation?: Conversation;
  /** `notify` is called once when the run has ended, in whatever way. Absent when a single function is invoked. */
  readonly whenOver?: (notify: () => void) => void;
  /** Present if the run can be suspended until calls are approved, or its caller has connected; absent if its answer could not return tokens. */
  readonly suspension?: RunSuspension | undefined;
  /** Absent in a run that was resumed, when a single function is invoked, and within a preset that is called as a tool. */
  readonly repeat?: RunRepeat | undefined;
  /**
   * The messages that this run has added to its conversation so far: complete rounds of calls, and the answer. Absent when a single function is
   * invoked, and within a preset that is called as a tool.
   */
  readonly transcript?: ChatMessage[] | undefined;
  /** Absent when a single function is invoked. */
  readonly thoughts?: ThoughtSealer;
  /** Absent if nothing is traced. */
  readonly trace?: TraceOfRun | undefined;
  /**
   * Counts memory that the run takes besides its request, in characters; less than 0 gives it back. Absent when a single function is invoked.
   * @throws GatewayError `overloaded` if there is no room for it
   */
  readonly hold?: ((characters: number) => void) | undefined;
  /** Absent if the run is not logged. */
  readonly modelRequests?: ModelRequestLog | undefined;
  /** Where requests to tool servers are added, for a caller who may see their addresses and asks for it. */
  readonly recordedRequests?: RecordedRequest[] | undefined;
}

/** A preset that runs as a tool. */
interface NestedRun {
  /** Ids of the presets that called this one, outermost first. */
  readonly path: readonly string[];
  /** Says something to the user, in the answer of the outermost run. */
  readonly say: ((text: string) => Promise<void>) | undefined;
}

/**
 * The caller's conversation for which function state, changed tools and instructions, hand-offs and remembered approvals are stored: that of the
 * `chat_id`, otherwise that of the socket session. Undefined: these last for the run only.
 */
export function conversationOf({ chatId, conversationId }: Pick<RunContext, 'chatId' | 'conversationId'>): string | undefined {
  if (chatId === undefined || chatId === '') return conversationId;
  return tagged.test(chatId) ? `chat:${chatId}` : chatId;
}

/** Clients choose ids of chats. One that is written like that of a session gets a tag, and so do ids with the tag, so that no two are the same. */
const tagged = /^(?:session|chat):/;

/** Whether questions can reach a user during the run. */
export function canBeAsked({ askClient, sessionId }: Pick<RunContext, 'askClient' | 'sessionId'>): boolean {
  return askClient !== undefined || sessionId !== undefined;
}

export interface Conversation {
  /** The model that is asked: the base of the current preset. */
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  readonly files: readonly InlineFile[];
  /** The tools that may be called now, as entries of `tool_ids`, without those of the request's own servers. Set by the loop; absent: none. */
  offeredToolIds?: () => readonly string[];
}

/**
 * The calls of one run that have not settled yet, so that a single one can be cancelled from elsewhere
 * (`POST /api/runs/{id}/calls/{call_id}/cancel`). A call is registered before its `tool.call` event is emitted, and until it has settled: also
 * while it waits for its turn or for an approval.
 */
export interface CallRegistry {
  /**
   * `cancel` is called at most once and must not throw. If a model uses an id twice in one run, both calls are registered, and cancelled
   * together. The returned function unregisters the call; calling it again does nothing.
   */
  register(callId: string, cancel: () => void): () => void;
}
