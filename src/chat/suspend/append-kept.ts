import { textOf } from '../../core/chat/chat.ts';
import type { AssistantMessage, ChatMessage, ToolCall } from '../../core/chat/chat.ts';

/**
 * The history, followed by the kept messages of a run. A client that was shown the calls of that run may have sent some of them back: what stands at
 * the end of the history and is among the kept messages is left out, so that the model sees each call once.
 */
export function appendKept(history: readonly ChatMessage[], kept: readonly ChatMessage[]): ChatMessage[] {
  const among = createKeptParts(kept);
  let end = history.length;
  /** Results after `end` whose calls have not been seen yet. */
  let results: string[] = [];
  for (let index = history.length - 1; index >= 0; index -= 1) {
    const message = history[index];
    if (message?.role === 'tool') results.push(message.toolCallId);
    else if (message?.role === 'assistant' && results.every((id) => message.toolCalls.some((call) => call.id === id)) && among(message)) {
      end = index;
      results = [];
    } else break;
  }
  return [...history.slice(0, end), ...kept];
}

/** Where the history goes on after `from`, after calls and results among the kept messages that a client has sent back there. */
export function behindSentBack(history: readonly ChatMessage[], from: number, kept: readonly ChatMessage[]): number {
  const among = createKeptParts(kept);
  let next = from;
  for (let message = history[next]; message?.role === 'assistant' && message.toolCalls.length > 0; message = history[next]) {
    if (!among(message)) break;
    const ids = new Set(message.toolCalls.map(({ id }) => id));
    next += 1;
    for (let result = history[next]; result?.role === 'tool' && ids.has(result.toolCallId); result = history[next]) next += 1;
  }
  return next;
}

/**
 * Whether a message is one of the kept, each of which counts once. Its calls are known by their ids, or by their names where the client has ids of its own:
 * those of calls with results, because the caller's functions may have been called before.
 */
function createKeptParts(kept: readonly ChatMessage[]): (message: AssistantMessage) => boolean {
  const hasResult = new Set(kept.flatMap((message) => (message.role === 'tool' ? [message.toolCallId] : [])));
  const said = kept.filter((message) => message.role === 'assistant');
  const left = said.flatMap(({ toolCalls }) => toolCalls);
  const isSame = (call: ToolCall, of: ToolCall): boolean => of.id === call.id || (of.name === call.name && hasResult.has(of.id));
  return ({ content, toolCalls }) => {
    if (toolCalls.length === 0) return said.some((other) => textOf(other.content).includes(textOf(content).trim()));
    const places = new Set<number>();
    for (const call of toolCalls) {
      const place = left.findIndex((of, index) => !places.has(index) && isSame(call, of));
      if (place < 0) return false;
      places.add(place);
    }
    left.splice(0, left.length, ...left.filter((_call, index) => !places.has(index)));
    return true;
  };
}
