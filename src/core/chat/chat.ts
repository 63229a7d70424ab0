import type { CallerWarning } from './caller-warning.ts';
import type { ApprovalRule, PendingApproval } from '../user-input/approval.ts';
import type { PendingConnect } from '../user-input/connect.ts';
import type { JsonObject, JsonValue } from '../../shared/json/json.ts';
import type { RunEvent } from './run-event.ts';
import type { ReturnedThought } from './thought.ts';

/** A part of a message. Parts other than text (images, audio, files) are passed on unchanged. */
export type ContentPart = { type: 'text'; text: string } | ({ type: string } & JsonObject);
export type MessageContent = string | ContentPart[];

/** A call as the model wrote it. `arguments` is the raw text, which may be anything but JSON. */
export interface ToolCall {
  id: string;
  name: string;
  arguments: string;
  /** The client's own id of a call that it has returned, where `id` follows from the conversation. */
  sentId?: string;
  /** Where the call is, in a wire format that can do without ids: what identifies the conversation before it, and its position in its turn. */
  place?: { seed: string; position: number };
  /** Further fields that the backend wants back with the call: those of `callThoughtFields`. */
  extra?: JsonObject;
}

/** Fields of a call in which Gemini's thought signatures are: its own, and that of LiteLLM. */
export const callThoughtFields: readonly string[] = ['extra_content', 'provider_specific_fields'];

/**
 * One message of a conversation. `extra` holds fields that the gateway does not know (`name`, `cache_control`, …);
 * backends that speak the OpenAI API get them unchanged.
 */
export type ChatMessage = SystemMessage | UserMessage | AssistantMessage | ToolMessage;
interface SystemMessage {
  role: 'system' | 'developer';
  content: MessageContent;
  extra?: JsonObject;
}
interface UserMessage {
  role: 'user';
  content: MessageContent;
  extra?: JsonObject;
}
export interface AssistantMessage {
  role: 'assistant';
  content: MessageContent | null;
  toolCalls: ToolCall[];
  /** The end of a textual `content` that functions have said while the calls ran, not the model. */
  said?: string;
  /** The public id of the fallback that wrote it. Absent if the run's own model did, or if it is unknown. Only the model that wrote it can read its thoughts. */
  writtenBy?: string;
  /** What the client has returned unread; absent once it is opened. */
  returned?: readonly ReturnedThought[];
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

/** Token counts with OpenAI's field names, so that details of any provider can be summed. */
export interface Usage extends JsonObject {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
}

/** A source of an answer: a tool result or an inline file, in Open WebUI's shape. */
export type Source = {
  source: { name: string };
  document: string[];
  metadata: { source: string; parameters?: JsonObject }[];
  tool_result?: true;
};

/** An event of a backend's answer. `choice` is the index for `n` above 1; absent means 0. */
export type ModelEvent =
  /** `isNotice`: what the gateway itself says about another event, for clients that would not read that event. An empty one is a chunk without any text. */
  | { type: 'text'; text: string; choice?: number; isNotice?: true }
  /** `field`: the backend's name of the field; absent if the reasoning was part of the text. */
  | { type: 'reasoning'; text: string; field?: string; choice?: number }
  /** Fields that the backend wants back, besides the reasoning, in the message with the calls that follow. */
  | { type: 'thought'; fields: JsonObject; choice?: number }
  /** A whole call, assembled from its fragments. */
  | { type: 'tool-call'; call: ToolCall; choice?: number }
  /** Fields that the gateway does not use (`refusal`, `logprobs`, `system_fingerprint`, …), passed on at the same level. */
  | { type: 'extra'; level: 'delta' | 'choice' | 'response'; fields: JsonObject; choice?: number }
  | { type: 'usage'; usage: Usage }
  /** `unknownReason`: the backend's word for the end, if it is none that the gateway knows: a call then runs only if it reads. */
  | { type: 'finish'; reason: FinishReason; unknownReason?: string; choice?: number }
  /** A selection of tools begins; the run event `selection` is its end. */
  | { type: 'selecting' }
  /** `mayWait`: of a call that a human may have to approve before it runs, and of one that waits with such a call. */
  | { type: 'run-event'; event: RunEvent; mayWait?: true };

/** An event of a run: from the model, or about what the gateway did. */
export type ChatEvent =
  | ModelEvent
  | { type: 'source'; source: Source }
  | { type: 'approval'; approval: PendingApproval }
  | { type: 'connect'; connect: PendingConnect }
  | { type: 'tool-list'; list: McpToolList };

/** A frontend's own function, offered alongside the gateway's and never executed by it. */
export interface CallerFunction {
  name: string;
  /** The entry of `tools` as it was sent. */
  wire: JsonObject;
}

/** A prompt that is to be continued as it is, instead of answered: the text of the request's only user message. No functions are offered. */
export interface TextCompletion {
  /** What follows the text that is to be inserted. */
  suffix?: string;
  /** Fields of Ollama's `POST /api/generate` that its chats lack: `raw`, `template`, `context`. */
  ollama?: JsonObject;
}

/**
 * What a request is for. `task`: a hidden task of a frontend (title, tags), which runs without tools. `probe`: whether the model exists and the caller
 * may use it; no backend is requested. `handoff`: another preset has handed the conversation over, so a tool result at its end belongs to no call of
 * this preset.
 */
type ChatPurpose = 'chat' | 'task' | 'probe' | 'handoff';

/** One chat request, free of any wire format. */
export interface ChatRequest {
  model: string;
  messages: ChatMessage[];
  stream: boolean;
  callerFunctions: CallerFunction[];
  /** Entries of `tools` that are not functions (a provider's hosted tools), forwarded unchanged. */
  hostedTools: JsonObject[];
  toolChoice: JsonValue | undefined;
  parallelToolCalls: boolean | undefined;
  /** Model parameters and unknown fields, for the backend. Never contains the gateway's extension fields. */
  parameters: JsonObject;
  toolServers: RequestToolServer[];
  /** Absent: none. */
  mcpServers?: RequestMcpServer[];
  /** Whether the answer shows the tools of `mcpServers` (`tool-list` events). */
  listsMcpTools?: true;
  /** `undefined`: the defaults. Empty: no registered tool. */
  toolIds: string[] | undefined;
  mode: string | undefined;
  maxToolRounds: number | undefined;
  /** The most calls that the gateway executes in the run; then the model answers without tools. Absent: the limit of every run. */
  maxToolCalls?: number;
  toolTimeoutMs: number | undefined;
  sessionId: string | undefined;
  chatId: string | undefined;
  /** The conversation of a request without `chatId`: that of a socket session. Clients cannot set it. */
  conversationId?: string;
  messageId: string | undefined;
  /** `{{NAME}}` → value, for system prompts and templates. */
  variables: Record<string, string>;
  files: InlineFile[];
  purpose: ChatPurpose;
  /** In place of the preset's system prompt, as a function has changed it; clients cannot set it. */
  instructions?: string;
  /** The gateway has put calls of earlier runs into the history, which a backend may refuse in a request without tools. */
  hasExecutedCalls?: true;
  /** The approval rule of the presets that handed the conversation over; clients cannot set it. */
  approvalRule?: ApprovalRule;
  completion?: TextCompletion;
  /** Calls of the caller's functions get ids that follow from this and from the call, because its wire format can do without ids. */
  callIdSeed?: string;
  /** The client returns what the model wants back with its calls, because its wire format has a place for it. */
  returnsThoughts?: true;
  /** Only one call of the caller's functions is returned at a time, because its wire format has room for one. */
  returnsOneCall?: true;
  /** The key with which the client marks a request and its repetitions. */
  idempotencyKey?: string;
  /** The request does not continue a failed run, and is not continued itself. */
  resumesFailed?: false;
  /** What the request asked for and does not get; the run emits it. */
  warnings?: readonly CallerWarning[];
  /**
   * How an answer over HTTP is written, which can return approval tokens; absent for an answer over a socket. `dialect` is the name of its wire format,
   * and `options` are for that alone. `address`: where people reach the gateway, without a slash at the end; absent if that is not known.
   */
  reply?: { dialect: string; options: JsonObject; readonly address?: string | undefined };
  /** Present with `store: true`: the answer is to be stored. `metadata` is not validated. */
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
  /** An object, or JSON or YAML text. */
  openapi?: JsonObject | string;
  info?: JsonObject;
  specs?: JsonObject[];
  authType: 'none' | 'bearer' | 'basic' | 'header' | 'query' | 'session';
  authName?: string;
  key?: string;
  headers: Record<string, string>;
  execution?: 'browser' | 'gateway';
  /** Which of its functions are left out, and which need approval; the same fields as in a registered server's `config`. */
  config?: JsonObject;
}

/** An MCP server that came with the request, under a label of the caller's choice. */
export interface RequestMcpServer {
  /** Unique in the request, and no registered server's id. The `server` of its calls, and the first part of the names that cite them. */
  label: string;
  url: string;
  /** Sent as they are. */
  headers: Record<string, string>;
  /** An access token, sent as a bearer token. */
  authorization?: string;
  /** The tools that are offered; absent: all. */
  allowed?: McpToolFilter;
  /** Which calls need an approval: those that `always` chooses, and all others that `never` does not choose. */
  approval: { always?: McpToolFilter; never?: McpToolFilter };
  /** Where the request has it, for messages: `tools.0`. */
  param: string;
}

/** Chooses the tools of an MCP server that meet all conditions; without any, every tool. */
export interface McpToolFilter {
  /** Names as the server has them. */
  names?: string[];
  exceptNames?: string[];
  /** The server's own claim (`readOnlyHint`). */
  isReadOnly?: boolean;
}

/** The tools that an MCP server of the request offers in this run; `error`: why there are none. */
export interface McpToolList {
  server: string;
  tools: { name: string; description: string; input_schema: JsonObject }[];
  error?: string;
}

/** The text of a message: its text parts, joined by line breaks. */
export function textOf(content: MessageContent | null): string {
  if (content === null) return '';
  if (typeof content === 'string') return content;
  return content.flatMap((part) => (part.type === 'text' && typeof part.text === 'string' ? [part.text] : [])).join('\n');
}

/** The message that a `TextCompletion` continues. */
export function promptMessage(messages: readonly ChatMessage[]): UserMessage | undefined {
  return messages.findLast((message) => message.role === 'user');
}
