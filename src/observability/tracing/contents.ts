import { textOf, type ChatMessage } from '../../core/chat/chat.ts';
import type { JsonValue } from '../../shared/json/json.ts';

/** The most characters of one attribute with contents. Collectors refuse requests of some megabytes. */
const contentCharacters = 64 * 1024;

/** Messages in the form of `gen_ai.input.messages`. Pictures and files are named by their type. */
export function inputMessages(messages: readonly ChatMessage[]): string {
  return short(messages.map((message) => ({ role: message.role, parts: partsOf(message) })));
}

/** One message in the form of `gen_ai.output.messages`. */
export function outputMessages(text: string, calls: readonly { id: string; name: string; arguments: string }[], finish: string): string {
  const parts = [...(text === '' ? [] : [{ type: 'text', content: text }]), ...calls.map(toCallPart)];
  return short([{ role: 'assistant', parts, finish_reason: finish }]);
}

export function short(value: unknown): string {
  return (JSON.stringify(value) ?? '').slice(0, contentCharacters);
}

function partsOf(message: ChatMessage): JsonValue[] {
  if (message.role === 'tool') return [{ type: 'tool_call_response', id: message.toolCallId, response: textOf(message.content) }];
  const calls = message.role === 'assistant' ? message.toolCalls.map(toCallPart) : [];
  const { content } = message;
  if (content === null || content === '') return calls;
  if (typeof content === 'string') return [{ type: 'text', content }, ...calls];
  const parts = content.map((part) => (typeof part['text'] === 'string' ? { type: 'text', content: part['text'] } : { type: part.type }));
  return [...parts, ...calls];
}

function toCallPart({ id, name, arguments: args }: { id: string; name: string; arguments: string }): { [key: string]: JsonValue } {
  return { type: 'tool_call', id, name, arguments: args };
}
