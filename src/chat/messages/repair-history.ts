import type { ChatMessage, ToolCall, ToolMessage } from '../../core/chat/chat.ts';
import { textOf } from '../../core/chat/chat.ts';
import { isJsonObject } from '../../shared/json.ts';

const lostResult = JSON.stringify({ error: 'The result of this call is not in the conversation.' });

/**
 * Makes a history that every backend accepts: an assistant message with tool calls is followed by exactly one result per call and nothing else.
 * Frontends truncate histories, and a run may have ended between calls; one missing result would make every later request of the chat fail.
 */
export function repairHistory(messages: readonly ChatMessage[]): ChatMessage[] {
  const used = new Set<ChatMessage>();
  const places = placesOfIds(messages);
  return messages.flatMap((message, index): ChatMessage[] => {
    if (used.has(message)) return [];
    if (message.role === 'tool') return [withoutCall(message)];
    if (message.role !== 'assistant' || message.toolCalls.length === 0) return [message];
    const results = message.toolCalls.map((call) => {
      const result = resultOf(call, places.get(call.id), { index, used });
      used.add(result);
      return result;
    });
    return [{ ...message, toolCalls: message.toolCalls.map(withCanonicalArguments) }, ...results];
  });
}

/** Where an id stands, in order. `next`: everything before has been passed. */
interface Places {
  found: { index: number; message: ChatMessage }[];
  next: number;
}

/** Of all calls and results: looking for each result in all messages that follow would take minutes for a history of megabytes. */
function placesOfIds(messages: readonly ChatMessage[]): Map<string, Places> {
  const places = new Map<string, Places>();
  for (const [index, message] of messages.entries()) {
    for (const id of idsIn(message)) {
      const place = places.get(id) ?? { found: [], next: 0 };
      place.found.push({ index, message });
      places.set(id, place);
    }
  }
  return places;
}

function idsIn(message: ChatMessage): string[] {
  if (message.role === 'tool') return [message.toolCallId];
  return message.role === 'assistant' ? message.toolCalls.map(({ id }) => id) : [];
}

/** Some servers restart their ids in every turn, so a result belongs to the latest call with its id. */
function resultOf(
  call: ToolCall,
  places: Places | undefined,
  { index, used }: { index: number; used: ReadonlySet<ChatMessage> },
): ToolMessage {
  const next = places && passTo(places, (place) => place.index > index && !used.has(place.message));
  return next?.role === 'tool' ? next : { role: 'tool', toolCallId: call.id, name: call.name, content: lostResult };
}

/** The first message that is accepted; those before it are never looked at again. */
function passTo(places: Places, accepts: (place: Places['found'][number]) => boolean): ChatMessage | undefined {
  let place = places.found[places.next];
  while (place !== undefined && !accepts(place)) place = places.found[(places.next += 1)];
  return place?.message;
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
