import type { AssistantMessage, ChatMessage, MessageContent, ToolCall } from '../../../core/chat/chat.ts';
import { isJsonObject, ownValue, type JsonObject, type JsonValue, type PlainJsonObject } from '../../../shared/json/json.ts';
import type { PublicMessage } from './function-definition.ts';
import { toPlainJson } from '../../../shared/json/plain-json.ts';
import { parseExactly } from '../../../shared/json/parse-exactly.ts';

/** Converts a message to the OpenAI API's format, which authors of functions and hooks know. */
export function toPublicMessage(message: ChatMessage): PublicMessage {
  const content = toPlainJson(message.content);
  const extra = toPlainJson(message.extra ?? {}) as PlainJsonObject;
  switch (message.role) {
    case 'system':
    case 'developer':
    case 'user':
      return { ...extra, role: message.role, content };
    case 'assistant': {
      const calls = message.toolCalls.map(({ id, name, arguments: text }) => ({
        id,
        type: 'function',
        function: { name, arguments: text },
      }));
      return { ...extra, role: 'assistant', content, ...(calls.length > 0 && { tool_calls: calls }) };
    }
    case 'tool':
      return {
        ...extra,
        role: 'tool',
        tool_call_id: message.toolCallId,
        ...(message.name !== undefined && { name: message.name }),
        content,
      };
  }
}

/** Reads the answer that a hook returned. `newCallId` generates the ids of tool calls without one. @throws TypeError */
export function toAssistantMessage(value: unknown, newCallId: () => string): AssistantMessage {
  const message = fromPublicMessage(value, newCallId);
  if (message.role !== 'assistant')
    throw new TypeError('the message must be an assistant message, as in { role: "assistant", content: "…" }');
  return message;
}

/** @throws TypeError that says what a message must have */
export function fromPublicMessage(value: unknown, newCallId: () => string): ChatMessage {
  if (!isJsonObject(value)) throw new TypeError('a message must be an object, as in { role: "assistant", content: "…" }');
  const { role, content, tool_calls: calls, tool_call_id: toolCallId, name, ...rest } = parseExactly(JSON.stringify(value)) as JsonObject;
  const extra = Object.keys(rest).length > 0 ? { extra: rest } : {};
  if (role === 'system' || role === 'developer' || role === 'user') {
    return { role, content: requireContent(content), ...(name === undefined ? extra : { extra: { ...rest, name } }) };
  }
  if (role === 'assistant') {
    const parsed = content === null || content === undefined ? null : requireContent(content);
    return { role, content: parsed, toolCalls: toCalls(calls, newCallId), ...extra };
  }
  if (role !== 'tool') throw new TypeError('role must be "system", "developer", "user", "assistant" or "tool"');
  if (typeof toolCallId !== 'string') throw new TypeError('a tool message needs its tool_call_id');
  return { role, toolCallId, content: requireContent(content), ...(typeof name === 'string' && { name }), ...extra };
}

function requireContent(content: JsonValue | undefined): MessageContent {
  if (typeof content === 'string') return content;
  const isParts = Array.isArray(content) && content.every((part) => isJsonObject(part) && typeof part['type'] === 'string');
  if (!isParts) throw new TypeError('content must be a string, or a list of content parts with a type');
  return content as MessageContent;
}

function toCalls(calls: JsonValue | undefined, newCallId: () => string): ToolCall[] {
  if (calls === undefined || calls === null) return [];
  if (!Array.isArray(calls)) throw new TypeError('tool_calls must be a list');
  return calls.map((call) => {
    const fn = isJsonObject(call) ? ownValue(call, 'function') : undefined;
    if (!isJsonObject(call) || !isJsonObject(fn) || typeof fn['name'] !== 'string') {
      throw new TypeError('an entry of tool_calls must be { id, type: "function", function: { name, arguments } }');
    }
    const { name, arguments: args = {} } = fn;
    return {
      id: typeof call['id'] === 'string' ? call['id'] : newCallId(),
      name,
      arguments: typeof args === 'string' ? args : JSON.stringify(args),
    };
  });
}
