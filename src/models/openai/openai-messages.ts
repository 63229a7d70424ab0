import type { ChatMessage, ToolCall } from '../../core/chat.ts';
import { isJsonObject } from '../../shared/json.ts';
import type { JsonObject, JsonValue } from '../../shared/json.ts';
import type { ModelRequest } from '../../core/model.ts';

/** Our own keys of `stream_options`, which no backend may see. */
const ownStreamOptions = new Set(['include_events']);

/**
 * The body of `POST /chat/completions`. Parameters without a word of ours go through; `stream_options` only with a stream, because OpenAI
 * refuses it otherwise, and never when the backend is known to refuse it.
 */
export function toChatBody(request: ModelRequest, takesStreamOptions: boolean): JsonObject {
  const { stream_options: streamOptions, ...parameters } = request.parameters;
  const tools = [...request.tools.map((spec) => ({ type: 'function', function: { ...spec } })), ...request.callerTools];
  return {
    ...parameters,
    model: request.model,
    messages: request.messages.map((message) => toWireMessage(message)),
    stream: request.stream,
    ...(request.stream && takesStreamOptions ? { stream_options: { ...foreignStreamOptions(streamOptions), include_usage: true } } : {}),
    ...(tools.length === 0 ? {} : { tools }),
    ...(tools.length === 0 || request.toolChoice === undefined ? {} : { tool_choice: request.toolChoice }),
    ...(tools.length === 0 || request.parallelToolCalls === undefined ? {} : { parallel_tool_calls: request.parallelToolCalls }),
  };
}

/** What the caller put into `stream_options` beside what the gateway asks for itself. */
export function foreignStreamOptions(options: JsonValue | undefined): JsonObject {
  if (!isJsonObject(options)) return {};
  return Object.fromEntries(Object.entries(options).filter(([key]) => key !== 'include_usage' && !ownStreamOptions.has(key)));
}

/** A message as the OpenAI API has it; `extra` comes back where it stood and never replaces a field of ours. */
export function toWireMessage(message: ChatMessage): JsonObject {
  switch (message.role) {
    case 'system':
    case 'developer':
    case 'user':
      return { ...message.extra, role: message.role, content: message.content };
    case 'assistant': {
      const calls = message.toolCalls.map((call) => toWireCall(call));
      // `content: null` alone is refused; with calls, or with what `extra` holds (a refusal, audio), it is the rule.
      const isEmpty = message.content === null && calls.length === 0 && message.extra === undefined;
      const content = isEmpty ? '' : message.content;
      return { ...message.extra, role: 'assistant', content, ...(calls.length === 0 ? {} : { tool_calls: calls }) };
    }
    case 'tool': {
      // Gemini's compatible API finds the function by this name alone when the call had no id of its own.
      const name = message.name === undefined ? {} : { name: message.name };
      return { ...name, ...message.extra, role: 'tool', tool_call_id: message.toolCallId, content: message.content };
    }
  }
}

/** Arguments that are no JSON object would make some servers refuse this and every later request of the chat: they get an empty object. */
function toWireCall(call: ToolCall): JsonObject {
  return {
    ...call.extra,
    id: call.id,
    type: 'function',
    function: { name: call.name, arguments: isObjectText(call.arguments) ? call.arguments : '{}' },
  };
}

function isObjectText(text: string): boolean {
  try {
    return isJsonObject(JSON.parse(text));
  } catch {
    return false;
  }
}
