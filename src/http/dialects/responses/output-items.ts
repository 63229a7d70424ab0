import type { JsonObject } from '../../../shared/json.ts';

/** The items of an answer, as OpenAI's types have them. */
export type OutputItem =
  | MessageItem
  | ReasoningItem
  | FunctionCallItem
  | CustomCallItem
  | ToolSearchCallItem
  | McpCallItem
  | ListToolsItem
  | ApprovalRequestItem;

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

interface TextPart {
  type: 'output_text';
  annotations: [];
  logprobs: JsonObject[];
  text: string;
}

interface RefusalPart {
  type: 'refusal';
  refusal: string;
}

export interface MessageItem {
  id: string;
  type: 'message';
  status: ItemStatus;
  role: 'assistant';
  content: (TextPart | RefusalPart)[];
}

export interface ReasoningItem {
  id: string;
  type: 'reasoning';
  summary: { type: 'summary_text'; text: string }[];
  encrypted_content?: string;
}

interface FunctionCallItem {
  id: string;
  type: 'function_call';
  status: ItemStatus;
  call_id: string;
  name: string;
  namespace?: string;
  arguments: string;
}

interface CustomCallItem {
  id: string;
  type: 'custom_tool_call';
  status: ItemStatus;
  call_id: string;
  name: string;
  namespace?: string;
  input: string;
}

/** A search for tools that the client executes. */
export interface ToolSearchCallItem {
  id: string;
  type: 'tool_search_call';
  status: ItemStatus;
  call_id: string;
  execution: 'client';
  arguments: JsonObject;
}

/** A call that the gateway has executed. */
export interface McpCallItem {
  id: string;
  type: 'mcp_call';
  status: ItemStatus | 'failed';
  approval_request_id: string | null;
  arguments: string;
  error: McpCallError | null;
  name: string;
  output: string | null;
  server_label: string;
}

export type McpCallError =
  | { type: 'mcp_tool_execution_error'; content: JsonObject[] }
  | { type: 'mcp_protocol_error'; code: number; message: string };

/** The tools of an MCP server of the request. */
export interface ListToolsItem {
  id: string;
  type: 'mcp_list_tools';
  server_label: string;
  tools: { name: string; description: string; input_schema: JsonObject; annotations: null }[];
  error?: string;
}

/** A call that waits for an approval. */
export interface ApprovalRequestItem {
  id: string;
  type: 'mcp_approval_request';
  arguments: string;
  name: string;
  server_label: string;
}
