import type { ChatMessage } from '../../core/chat.ts';

/**
 * The history, followed by the kept messages of a run. A client that was shown the calls of that run may have sent some of them back: what stands at
 * the end of the history and is among the kept messages is left out, so that the model sees each call once.
 */
export function appendKept(history: readonly ChatMessage[], kept: readonly ChatMessage[]): ChatMessage[] {
  const calls = new Set(kept.flatMap((message) => (message.role === 'assistant' ? message.toolCalls.map(({ id }) => id) : [])));
  const results = new Set(kept.flatMap((message) => (message.role === 'tool' ? [message.toolCallId] : [])));
  let end = history.length;
  while (end > 0 && isAmong(history[end - 1], { calls, results })) end -= 1;
  return [...history.slice(0, end), ...kept];
}

/** Each id counts once, because some backends restart their ids in every turn. */
function isAmong(message: ChatMessage | undefined, { calls, results }: { calls: Set<string>; results: Set<string> }): boolean {
  if (message?.role === 'tool') return results.delete(message.toolCallId);
  if (message?.role !== 'assistant' || message.toolCalls.length === 0 || !message.toolCalls.every(({ id }) => calls.has(id))) return false;
  for (const { id } of message.toolCalls) calls.delete(id);
  return true;
}
