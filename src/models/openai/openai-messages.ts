import { promptMessage, textOf, type ChatMessage, type TextCompletion, type ToolCall } from '../../core/chat/chat.ts';
import { invalidField } from '../../core/errors.ts';
import { withoutDerivedList } from '../../core/chat/derived-parameters.ts';
import { withoutOllamaOnly } from '../../core/chat/for-ollama-only.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../shared/json/json.ts';
import type { ModelRequest } from '../../core/models/model.ts';
import { toFunctionEntries } from '../transport/write-body.ts';

/** The gateway's own keys of `stream_options`, which are never sent to a backend. */
const ownStreamOptions = new Set(['include_events']);

/**
 * The body of `POST /chat/completions`. Unknown parameters pass through; `stream_options` is sent only with a stream, because OpenAI refuses it
 * otherwise, and never to a backend that is known to refuse it.
 */
export function toChatBody(request: ModelRequest): JsonObject {
  const { stream_options: streamOptions, ...body } = withoutOllamaOnly(withoutDerivedList(request.parameters));
  body['model'] = request.model;
  body['messages'] = request.messages.map((message) => toWireMessage(message));
  body['stream'] = request.stream;
  if (asksForUsage(request)) body['stream_options'] = { ...foreignStreamOptions(streamOptions), include_usage: true };
  if (request.tools.length === 0 && request.callerTools.length === 0) return body;
  if (request.toolChoice !== undefined) body['tool_choice'] = request.toolChoice;
  if (request.parallelToolCalls !== undefined) body['parallel_tool_calls'] = request.parallelToolCalls;
  const own = toFunctionEntries(request.tools);
  body['tools'] = request.callerTools.length === 0 ? own : [...own, ...request.callerTools];
  return body;
}

/**
 * The body of `POST /completions`. @throws GatewayError `invalid_request` for fields of Ollama that change what is asked, and for images
 */
export function toCompletionBody(request: ModelRequest, completion: TextCompletion): JsonObject {
  const {
    stream_options: streamOptions,
    reasoning_effort: _effort,
    ...parameters
  } = withoutOllamaOnly(withoutDerivedList(request.parameters));
  const { suffix, ollama = {} } = completion;
  for (const field of ['template', 'context'])
    if (ollama[field] !== undefined)
      throw invalidField(field, 'the backend of this model is no Ollama and has no such field. Leave it out.');
  const content = promptMessage(request.messages)?.content ?? '';
  if (Array.isArray(content) && content.some(({ type }) => type !== 'text'))
    throw invalidField('images', 'the backend of this model takes images in chats only.');
  return {
    ...parameters,
    model: request.model,
    prompt: textOf(content),
    ...(suffix !== undefined && { suffix }),
    stream: request.stream,
    ...(asksForUsage(request) ? { stream_options: { ...foreignStreamOptions(streamOptions), include_usage: true } } : {}),
  };
}

export function asksForUsage(request: ModelRequest): boolean {
  return request.stream && request.asksForUsage !== false;
}

/** The caller's `stream_options`, without those that the gateway handles itself. */
export function foreignStreamOptions(options: JsonValue | undefined): JsonObject {
  if (!isJsonObject(options)) return {};
  return Object.fromEntries(Object.entries(options).filter(([key]) => key !== 'include_usage' && !ownStreamOptions.has(key)));
}

/** Converts a message to the OpenAI API's format; fields of `extra` are restored, but never replace the gateway's own. */
export function toWireMessage(message: ChatMessage): JsonObject {
  switch (message.role) {
    case 'system':
    case 'developer':
    case 'user':
      return { ...message.extra, role: message.role, content: message.content };
    case 'assistant': {
      const calls = message.toolCalls.map((call) => toWireCall(call));
      // What other APIs want back is refused here.
      const { reasoning_items: _items, thinking_blocks: _blocks, ...extra } = message.extra ?? {};
      // `content: null` is only valid with tool calls, or with fields in `extra` (a refusal, audio).
      const isEmpty = message.content === null && calls.length === 0 && Object.keys(extra).length === 0;
      const content = isEmpty ? '' : message.content;
      return { ...extra, role: 'assistant', content, ...(calls.length === 0 ? {} : { tool_calls: calls }) };
    }
    case 'tool': {
      // Gemini's compatible API identifies the function by this name alone if the call had no id.
      const name = message.name === undefined ? {} : { name: message.name };
      return { ...name, ...message.extra, role: 'tool', tool_call_id: message.toolCallId, content: message.content };
    }
  }
}

/** Some servers refuse every later request of a chat with arguments that are not a JSON object, so those are replaced by an empty object. */
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
