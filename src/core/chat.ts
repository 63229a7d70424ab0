import type { ApprovalRule, PendingApproval } from './approval.ts';
import type { JsonObject, JsonValue } from '../shared/json.ts';
import type { RunEvent } from './run-event.ts';

/** A part of a message. Kinds other than text are carried as they came (images, audio, files). */
export type ContentPart = { type: 'text'; text: string } | ({ type: string } & JsonObject);
export type MessageContent = string | ContentPart[];

/** A call as the model wrote it. `arguments` is the raw text, which may be anything but JSON. */
export interface ToolCall {
  id: string;
  name: string;
  arguments: string;
  /** Further keys, which the backend that made the call wants to have back (`extra_content`, in which Gemini signs its thoughts). */
  extra?: JsonObject;
}

/**
 * One message of a conversation. `extra` holds the keys that the gateway has no word for (`name`, `cache_control`, …);
 * backends that speak the OpenAI API get them back unchanged.
 */
export type ChatMessage = SystemMessage | UserMessage | AssistantMessage | ToolMessage;
export interface SystemMessage {
  role: 'system' | 'developer';
  content: MessageContent;
  extra?: JsonObject;
}
export interface UserMessage {
  role: 'user';
  content: MessageContent;
  extra?: JsonObject;
}
export interface AssistantMessage {
  role: 'assistant';
  content: MessageContent | null;
  toolCalls: ToolCall[];
  extra?: JsonObject;
}
export interface ToolMessage {
  role: 'tool';
  toolCallId: string;
  content: MessageContent;
  /** The offered name of the function that was called, when known. */
  name?: string;
  /** The name under which the result is cited: `<server id>/<function>` or `<function>`. */
  label?: string;
  extra?: JsonObject;
}

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter';

/** Token counts with the field's own names, so that details of any provider can be summed. */
export interface Usage extends JsonObject {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
}

/** What supports an answer: a tool's result or an inline file, in Open WebUI's shape. */
export interface Source {
  source: { name: string };
  document: string[];
  metadata: { source: string; parameters?: JsonObject }[];
  tool_result?: true;
}

/** What a backend says while it answers. `choice` is the index for `n` above 1; absent means 0. */
export type ModelEvent =
  | { type: 'text'; text: string; choice?: number }
  /** `field`: the backend's name for it; absent where it was taken out of the text. */
  | { type: 'reasoning'; text: string; field?: string; choice?: number }
  /** What the backend wants to have back in the message with the calls that follow, beside their reasoning. */
  | { type: 'thought'; fields: JsonObject; choice?: number }
  /** A whole call, assembled from its fragments. */
  | { type: 'tool-call'; call: ToolCall; choice?: number }
  /** Fields without a word of ours (`refusal`, `logprobs`, `system_fingerprint`, …), passed on where they stood. */
  | { type: 'extra'; level: 'delta' | 'choice' | 'response'; fields: JsonObject; choice?: number }
  | { type: 'usage'; usage: Usage }
  | { type: 'finish'; reason: FinishReason; choice?: number }
  | { type: 'run-event'; event: RunEvent };

/** What a run says: the model's words, and what the gateway did between them. */
export type ChatEvent = ModelEvent | { type: 'source'; source: Source } | { type: 'approval'; approval: PendingApproval };

/** A frontend's own function, offered beside the gateway's and never executed by it. */
export interface CallerFunction {
  name: string;
  /** The entry of `tools` as it was sent. */
  wire: JsonObject;
}

/** One chat request, free of any wire format. */
export interface ChatRequest {
  model: string;
  messages: ChatMessage[];
  stream: boolean;
  callerFunctions: CallerFunction[];
  /** Entries of `tools` that are no functions (a provider's hosted tools): forwarded as they are. */
  hostedTools: JsonObject[];
  toolChoice: JsonValue | undefined;
  parallelToolCalls: boolean | undefined;
  /** Model parameters and unknown fields, for the backend. Extension fields never stand here. */
  parameters: JsonObject;
  toolServers: RequestToolServer[];
  /** `undefined`: the defaults. Empty: no registered tool. */
  toolIds: string[] | undefined;
  mode: string | undefined;
  maxToolRounds: number | undefined;
  toolTimeoutMs: number | undefined;
  sessionId: string | undefined;
  chatId: string | undefined;
  messageId: string | undefined;
  /** `{{NAME}}` → value, for system prompts and templates. */
  variables: Record<string, string>;
  files: InlineFile[];
  /** A frontend's hidden task (title, tags): runs without tools. */
  isTask: boolean;
  /** Another preset has handed the conversation over: the result at its end answers no call of this one. */
  isHandover?: true;
  /** What the presets that handed the conversation over demand; never a client's word. */
  approvalRule?: ApprovalRule;
  /** How the answer goes back over HTTP, which is where tokens of approvals can be returned; absent for an answer over a socket. Legacy: with `function_call`. */
  reply?: { includeUsage: boolean; includeEvents: boolean; isLegacy?: true };
  /** `store: true`: the caller would like the answer kept. `metadata` as it was sent. */
  store?: { metadata: JsonValue };
}

export interface InlineFile {
  name: string;
  content: string;
}

/** A tool server that came with the request (`tool_servers`). */
export interface RequestToolServer {
  url: string;
  path?: string;
  /** An object, or the text of one. */
  openapi?: JsonObject | string;
  info?: JsonObject;
  specs?: JsonObject[];
  authType: 'none' | 'bearer' | 'basic' | 'header' | 'query' | 'session';
  authName?: string;
  key?: string;
  headers: Record<string, string>;
  execution?: 'browser' | 'gateway';
  /** Which of its functions are kept back, and which wait for a human; the words of a registered server. */
  config?: JsonObject;
}

/** The text of a message: its text parts joined by line breaks, everything else left out. */
export function textOf(content: MessageContent | null): string {
  if (content === null) return '';
  if (typeof content === 'string') return content;
  return content.flatMap((part) => (part.type === 'text' && typeof part.text === 'string' ? [part.text] : [])).join('\n');
}
