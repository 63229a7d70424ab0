import { textOf } from '../../../core/chat.ts';
import type { ChatMessage, ChatRequest } from '../../../core/chat.ts';
import type { ChatTexts } from '../../../core/chat-store.ts';
import { GatewayError } from '../../../core/errors.ts';
import { isJsonObject } from '../../../shared/json.ts';
import type { JsonObject, JsonValue } from '../../../shared/json.ts';
import { limits } from '../../../core/limits.ts';

/** Longer texts are found by their beginning. */
const searchedCharacters = 40_000;

/** Parameters that OpenAI shows with a stored completion, by the name it shows them under. */
const shownParameters: Readonly<Record<string, string>> = {
  temperature: 'temperature',
  top_p: 'top_p',
  presence_penalty: 'presence_penalty',
  frequency_penalty: 'frequency_penalty',
  seed: 'seed',
  response_format: 'response_format',
  input_user: 'user',
};

/** @throws GatewayError `invalid_request` for what is no set of at most sixteen short texts, as OpenAI limits it; `null` is an empty one. */
export function parseMetadata(value: JsonValue | undefined): Record<string, string> {
  if (value === null) return {};
  if (!isJsonObject(value)) throw invalid('must be an object of texts, or null');
  const entries = Object.entries(value);
  if (entries.length > limits.metadataEntries) throw invalid(`may have ${limits.metadataEntries} entries, not ${entries.length}`);
  const texts = entries.map(([key, text]): [string, string] => {
    if (key.length > limits.metadataKeyCharacters) throw invalid(`a key may have ${limits.metadataKeyCharacters} characters`);
    if (typeof text !== 'string') throw invalid(`"${key}" must be a text`);
    if (text.length <= limits.metadataValueCharacters) return [key, text];
    throw invalid(`"${key}" may have ${limits.metadataValueCharacters} characters, not ${text.length}`);
  });
  return Object.fromEntries(texts);
}

/** What was asked, in OpenAI's words. Where it is too large, images, audio and files are replaced by a remark. */
export function toStoredMessages(messages: readonly ChatMessage[]): JsonObject[] {
  const whole = messages.map(toStoredMessage);
  return JSON.stringify(whole).length <= limits.storedChatCharacters ? whole : whole.map(withoutMedia);
}

function toStoredMessage(message: ChatMessage): JsonObject {
  const { role, content, extra = {} } = message;
  if (message.role === 'tool') {
    const { toolCallId, name } = message;
    return { ...extra, role, content, tool_call_id: toolCallId, ...(name !== undefined && { name }) };
  }
  if (message.role !== 'assistant' || message.toolCalls.length === 0) return { ...extra, role, content };
  const calls = message.toolCalls.map(({ id, name, arguments: args }) => ({ id, type: 'function', function: { name, arguments: args } }));
  return { ...extra, role, content, tool_calls: calls };
}

function withoutMedia(message: JsonObject): JsonObject {
  const { content } = message;
  if (!Array.isArray(content)) return message;
  const parts = content.map((part) => {
    if (!isJsonObject(part) || part['type'] === 'text') return part;
    return { type: 'text', text: `[${typeof part['type'] === 'string' ? part['type'] : 'part'} left out: too large to be stored]` };
  });
  return { ...message, content: parts };
}

/** The completion as it was answered, with what OpenAI shows of the request beside it. */
export function toStoredCompletion(completion: JsonObject, request: ChatRequest, runId: string): JsonObject {
  const shown = Object.entries(shownParameters).map(([name, parameter]) => [name, request.parameters[parameter] ?? null]);
  const tools = [...request.callerFunctions.map(({ wire }) => wire), ...request.hostedTools];
  return {
    ...(Object.fromEntries(shown) as JsonObject),
    tools: tools.length === 0 ? null : tools,
    tool_choice: request.toolChoice ?? null,
    ...completion,
    request_id: runId,
  };
}

export function textsOf(messages: readonly ChatMessage[], answer: string): ChatTexts {
  const question = messages.findLast(({ role }) => role === 'user');
  return { question: textOf(question?.content ?? null).slice(0, searchedCharacters), answer: answer.slice(0, searchedCharacters) };
}

function invalid(what: string): GatewayError {
  return new GatewayError('invalid_request', `metadata: ${what}.`, { param: 'metadata' });
}
