import type { ConfigChange } from '../../core/chat/chat-config.ts';
import type { ChatMessage, ToolCall } from '../../core/chat/chat.ts';
import type { ModelBackend, ModelRequest } from '../../core/models/model.ts';
import type { ToolOffer } from '../../core/tools/tool.ts';
import type { RunPictures } from '../messages/run-pictures.ts';
import type { ModeChoice } from '../modes/choose-mode.ts';
import type { LoopCheckpoint } from '../suspend/loop-checkpoint.ts';
import type { ToolCallSettings } from '../tool-calls/tool-call-scope.ts';
import type { TurnSeparator } from '../turns/separate-turns.ts';

/** The parts of a chat request that go to the backend unchanged. */
export type BackendRequest = Pick<
  ModelRequest,
  'model' | 'callerTools' | 'toolChoice' | 'parallelToolCalls' | 'parameters' | 'stream' | 'completion' | 'signal'
>;

export interface ChatRun {
  backend: ModelBackend;
  /** The public id of the fallback that answers now; undefined: the model of the run does. */
  answeringFallback: () => string | undefined;
  request: BackendRequest;
  /** Receives the pictures that functions return, for the backend. */
  pictures: RunPictures;
  messages: ChatMessage[];
  offer: ToolOffer;
  /** How functions change the tools and instructions; absent: they cannot. */
  changing?: ChangeableChat | undefined;
  /** The names of the caller's own functions. */
  callerNames: ReadonlySet<string>;
  /** The most rounds of tool calls; then the model is requested once more without tools. */
  maxRounds: number;
  /** The most rounds that call only helpers. Absent: they count as other rounds do. */
  maxLookups?: number | undefined;
  /** The most calls of the gateway's functions. */
  maxCalls?: number | undefined;
  /** How calls are chosen: a selection only once, a single call only in the first round. */
  choice: ModeChoice;
  /** The wire format of the answer supports only one call of the caller's functions. */
  returnsOneCall?: boolean | undefined;
  /** The context size of the model in tokens, if known. */
  contextTokens?: number | undefined;
  settings: ToolCallSettings;
  /** The checkpoint of a resumed run, used instead of `messages`. */
  resumed?: LoopCheckpoint | undefined;
  /**
   * Stores the gateway's calls of a turn that also calls the caller's functions, until the client returns their results. Returns the caller's calls
   * as the client gets them.
   */
  saveForClient(callerCalls: readonly ToolCall[], messages: readonly ChatMessage[]): Promise<ToolCall[]>;
}

/** How a function changes the chat in which it runs. */
export interface ChangeableChat {
  /** @throws GatewayError `unknown_tool_id`, `forbidden` for entries that the caller may not use */
  check(toolIds: readonly string[]): Promise<void>;
  /** The tools as they are now, without those that only calls from before a suspension may use (`Tool.isFormer`). */
  renew(): Promise<ToolOffer>;
  /**
   * Applies a change made at this time (milliseconds since 1970). Returns the tools and the system message that apply from now on, if they have
   * changed; null: no system message.
   */
  change(change: ConfigChange, time: number): Promise<{ offer?: ToolOffer; system?: ChatMessage | null }>;
}

/** The conversation continues under another preset. */
export interface Handoff {
  preset: string;
  /** Those that this run has added. */
  messages: ChatMessage[];
  /** The names of the functions offered until then. */
  functions: readonly string[];
  /** Separates the text of the next preset from the text until then. */
  separator: Pick<TurnSeparator, 'separate'>;
}
