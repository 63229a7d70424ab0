import type {
  ResponseCustomToolCall,
  ResponseFunctionToolCall,
  ResponseOutputItem,
  ResponseOutputMessage,
  ResponseReasoningItem,
  ResponseStreamEvent,
  ResponseToolSearchCall,
} from 'openai/resources/responses/responses';

/** The items of an answer. OpenAI's types know fewer fields of some. */
export type OutputItem =
  | ResponseOutputMessage
  | ResponseReasoningItem
  | ResponseFunctionToolCall
  | (ResponseCustomToolCall & { status: ItemStatus })
  | ResponseToolSearchCall
  | McpCallItem
  | ListToolsItem
  | ResponseOutputItem.McpApprovalRequest;

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';
export type MessageItem = ResponseOutputMessage;
export type ReasoningItem = ResponseReasoningItem;
export type ToolSearchCallItem = ResponseToolSearchCall;
/** A call that the gateway has executed. */
export type McpCallItem = ResponseOutputItem.McpCall;
/** The tools of an MCP server of the request. */
export type ListToolsItem = ResponseOutputItem.McpListTools;

export type ResponseEventType = ResponseStreamEvent['type'];
type FieldsOf<Type extends ResponseEventType> = Omit<Extract<ResponseStreamEvent, { type: Type }>, 'type' | 'sequence_number'>;

/** The fields of an event besides its number. A function gives the JSON of its field, and is called only where the event is written. */
export type EventFields<Type extends ResponseEventType> = { [Name in keyof FieldsOf<Type>]: FieldsOf<Type>[Name] | (() => string) };

/** Takes the events of the items of an answer. */
export interface ItemEvents {
  emit<Type extends ResponseEventType>(type: Type, fields: EventFields<Type>): void;
  /** Emits the `delta` of a part that began before. */
  emitDelta(part: DeltaTarget, delta: string): void;
}

/** The event type and position of all deltas of one part. */
export interface DeltaTarget {
  readonly type: ResponseEventType;
  readonly fields: object;
}
