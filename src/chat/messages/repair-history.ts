import { textOf, type ChatMessage, type ToolCall, type ToolMessage } from '../../core/chat/chat.ts';
import { isJsonObject } from '../../shared/json/json.ts';
import { parseJson } from '../../shared/json/parse-exactly.ts';
import { withReadArguments } from '../parse-tool-calls/read-arguments.ts';

const lostResult = JSON.stringify({ error: 'The result of this call is not in the conversation.' });

/**
 * Makes a history that every backend accepts: an assistant message with tool calls is followed by exactly one result per call and nothing else.
 * Frontends truncate histories, and a run may have ended between calls; one missing result would make every later request of the chat fail.
 */
export function repairHistory(messages: readonly ChatMessage[]): ChatMessage[] {
  if (!messages.some(hasIds)) return [...messages];
  const used = new Set<ChatMessage>();
  const byId = indexById(messages);
  return messages.flatMap((message, index): ChatMessage[] => {
    if (used.has(message)) return [];
    if (message.role === 'tool') return [withoutCall(message)];
    if (message.role !== 'assistant' || message.toolCalls.length === 0) return [message];
    const results = message.toolCalls.map((call) => {
      const result = resultOf(call, byId.get(call.id), { index, used });
      used.add(result);
      return result;
    });
    return [{ ...message, toolCalls: message.toolCalls.map(withCanonicalArguments) }, ...results];
  });
}

/** The messages with one call id, in order. `next`: those before it have been passed. */
interface Occurrences {
  found: { index: number; message: ChatMessage }[];
  next: number;
}

/** Indexes all calls and results: searching all later messages for each result would take minutes for a history of megabytes. */
function indexById(messages: readonly ChatMessage[]): Map<string, Occurrences> {
  const index = new Map<string, Occurrences>();
  for (const [position, message] of messages.entries()) {
    for (const id of idsIn(message)) {
      const occurrences = index.get(id) ?? { found: [], next: 0 };
      occurrences.found.push({ index: position, message });
      index.set(id, occurrences);
    }
  }
  return index;
}

function hasIds(message: ChatMessage): boolean {
  return message.role === 'tool' || (message.role === 'assistant' && message.toolCalls.length > 0);
}

function idsIn(message: ChatMessage): string[] {
  if (message.role === 'tool') return [message.toolCallId];
  return message.role === 'assistant' ? message.toolCalls.map(({ id }) => id) : [];
}

/** Some servers restart their ids in every turn, so a result belongs to the latest call with its id. */
function resultOf(
  call: ToolCall,
  occurrences: Occurrences | undefined,
  { index, used }: { index: number; used: ReadonlySet<ChatMessage> },
): ToolMessage {
  const next = occurrences && advanceTo(occurrences, (found) => found.index > index && !used.has(found.message));
  return next?.role === 'tool' ? next : { role: 'tool', toolCallId: call.id, name: call.name, content: lostResult };
}

/** The first message that is accepted; those before it are never checked again. */
function advanceTo(occurrences: Occurrences, accepts: (found: Occurrences['found'][number]) => boolean): ChatMessage | undefined {
  let current = occurrences.found[occurrences.next];
  while (current !== undefined && !accepts(current)) current = occurrences.found[(occurrences.next += 1)];
  return current?.message;
}

/** A result without its call becomes text; backends would refuse it as a result. */
function withoutCall(message: ToolMessage): ChatMessage {
  const name = message.label ?? message.name ?? message.toolCallId;
  return { role: 'user', content: `Tool \`${name}\` Output: ${textOf(message.content)}` };
}

/** The call with a JSON object as its arguments: an empty one if they cannot be read. */
export function withCanonicalArguments(call: ToolCall): ToolCall {
  const read = withReadArguments(call);
  return isJsonObject(parseJson(read.arguments)) ? read : { ...call, arguments: '{}' };
}
