import { callThoughtFields, type AssistantMessage, type ChatMessage, type ModelEvent, type ToolCall } from '../../core/chat/chat.ts';
import type { JsonObject } from '../../shared/json/json.ts';

/**
 * Fields of a message in which backends send what they want back with its calls: DeepSeek's and others' reasoning, OpenRouter's details, Gemini's
 * signatures, Anthropic's thinking blocks, reasoning items of OpenAI's Responses. A backend reads its own and ignores the others.
 */
const messageFields: ReadonlySet<string> = new Set([
  'reasoning_content',
  'reasoning',
  'thinking',
  'reasoning_details',
  'extra_content',
  'thinking_blocks',
  'reasoning_items',
]);
/** The same of a call. */
const callFields: ReadonlySet<string> = new Set(callThoughtFields);

export function hasThoughts(message: ChatMessage): boolean {
  return (
    message.role === 'assistant' &&
    (hasAny(message.extra, messageFields) || message.toolCalls.some(({ extra }) => hasAny(extra, callFields)))
  );
}

/** Whether it has blocks that Anthropic has signed, which clients return as they are, without the name of their model. */
export function hasSignedBlocks(message: ChatMessage): boolean {
  return message.role === 'assistant' && message.extra?.['thinking_blocks'] !== undefined;
}

/** Removes what only the model that wrote the turn can read, and leaves the client's other fields. */
export function withoutThoughts(message: AssistantMessage): AssistantMessage {
  return hasThoughts(message)
    ? { ...withoutExtra(message, messageFields), toolCalls: message.toolCalls.map(callWithoutThoughts) }
    : message;
}

/** Leaves each thought to the model that wrote it. `fallback`: the public id of the fallback that is asked; undefined: the model of the run is. */
export function withThoughtsOf(messages: readonly ChatMessage[], fallback: string | undefined): ChatMessage[] {
  return messages.map((message) => (message.role !== 'assistant' || message.writtenBy === fallback ? message : withoutThoughts(message)));
}

/** What the last turn's model wants back with its calls, besides the reasoning, which has been streamed. */
export function thoughtBefore(messages: readonly ChatMessage[]): ModelEvent[] {
  const turn = messages.findLast((message) => message.role === 'assistant');
  const fields = Object.entries(turn?.extra ?? {}).filter(([name, value]) => messageFields.has(name) && typeof value !== 'string');
  return fields.length === 0 ? [] : [{ type: 'thought', fields: Object.fromEntries(fields) }];
}

/**
 * Adds fields that arrive in parts, such as one for each block of an answer: texts and lists are continued, everything else is replaced.
 */
export function addThoughts(fields: JsonObject, added: JsonObject): JsonObject {
  const sum: JsonObject = { ...fields };
  for (const [name, value] of Object.entries(added)) {
    const before = sum[name];
    if (typeof before === 'string' && typeof value === 'string') sum[name] = before + value;
    else sum[name] = Array.isArray(before) && Array.isArray(value) ? [...before, ...value] : value;
  }
  return sum;
}

function callWithoutThoughts(call: ToolCall): ToolCall {
  return hasAny(call.extra, callFields) ? withoutExtra(call, callFields) : call;
}

function withoutExtra<Holder extends { extra?: JsonObject }>(holder: Holder, names: ReadonlySet<string>): Holder {
  const { extra = {}, ...rest } = holder;
  const others = Object.entries(extra).filter(([name]) => !names.has(name));
  return (others.length === 0 ? rest : { ...rest, extra: Object.fromEntries(others) }) as Holder;
}

function hasAny(extra: JsonObject | undefined, names: ReadonlySet<string>): boolean {
  return extra !== undefined && Object.keys(extra).some((name) => names.has(name));
}
