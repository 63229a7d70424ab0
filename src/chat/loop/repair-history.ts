import type { ChatMessage, ToolCall, ToolMessage } from '../../core/chat.ts';
import { textOf } from '../../core/chat.ts';
import { isJsonObject } from '../../shared/json.ts';

const lostResult = JSON.stringify({ error: 'The result of this call is not in the conversation.' });

/**
 * Makes a history that every backend accepts: an assistant message with tool calls is followed by exactly one result per call and nothing else.
 * Frontends truncate histories, and a run may have ended between calls; one missing result would make every later request of the chat fail.
 */
export function repairHistory(messages: readonly ChatMessage[]): ChatMessage[] {
  const used = new Set<ChatMessage>();
  return messages.flatMap((message, index): ChatMessage[] => {
    if (used.has(message)) return [];
    if (message.role === 'tool') return [withoutCall(message)];
    if (message.role !== 'assistant' || message.toolCalls.length === 0) return [message];
    const later = messages.slice(index + 1);
    const results = message.toolCalls.map((call) => {
      const result = resultOf(call, later, used);
      used.add(result);
      return result;
    });
    return [{ ...message, toolCalls: message.toolCalls.map(withCanonicalArguments) }, ...results];
  });
}

/** Some servers restart their ids in every turn, so a result belongs to the latest call with its id. */
function resultOf(call: ToolCall, later: readonly ChatMessage[], used: ReadonlySet<ChatMessage>): ToolMessage {
  for (const message of later) {
    if (message.role === 'tool' && message.toolCallId === call.id && !used.has(message)) return message;
    if (message.role === 'assistant' && message.toolCalls.some(({ id }) => id === call.id)) break;
  }
  return { role: 'tool', toolCallId: call.id, name: call.name, content: lostResult };
}

/** A result without its call becomes text; backends would refuse it as a result. */
function withoutCall(message: ToolMessage): ChatMessage {
  const name = message.label ?? message.name ?? message.toolCallId;
  return { role: 'user', content: `Tool \`${name}\` Output: ${textOf(message.content)}` };
}

/** With a JSON object for arguments: what cannot be read as one becomes an empty one. */
export function withCanonicalArguments(call: ToolCall): ToolCall {
  try {
    if (isJsonObject(JSON.parse(call.arguments))) return call;
  } catch {
    // Not JSON; handled below.
  }
  return { ...call, arguments: '{}' };
}
