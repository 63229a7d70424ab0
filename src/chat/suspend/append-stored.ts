import { textOf, type AssistantMessage, type ChatMessage, type ToolCall } from '../../core/chat/chat.ts';

/**
 * Appends the stored messages of a run to the history. A client that was shown the calls of that run may have sent some of them back. Those at the
 * end of the history are left out, so that the model sees each call once.
 */
export function appendStored(history: readonly ChatMessage[], stored: readonly ChatMessage[]): ChatMessage[] {
  const takeStored = createStoredMatcher(stored);
  let end = history.length;
  /** Results after `end` whose calls have not been seen yet. */
  let results: string[] = [];
  for (let index = history.length - 1; index >= 0; index -= 1) {
    const message = history[index];
    if (message?.role === 'tool') results.push(message.toolCallId);
    else if (
      message?.role === 'assistant' &&
      results.every((id) => message.toolCalls.some((call) => call.id === id)) &&
      takeStored(message)
    ) {
      end = index;
      results = [];
    } else break;
  }
  return [...history.slice(0, end), ...stored];
}

/** The index in the history after `from` and after the stored calls and results that a client has sent back there. */
export function endOfSentBack(history: readonly ChatMessage[], from: number, stored: readonly ChatMessage[]): number {
  const takeStored = createStoredMatcher(stored);
  let next = from;
  for (let message = history[next]; message?.role === 'assistant' && message.toolCalls.length > 0; message = history[next]) {
    if (!takeStored(message)) break;
    const ids = new Set(message.toolCalls.map(({ id }) => id));
    next += 1;
    for (let result = history[next]; result?.role === 'tool' && ids.has(result.toolCallId); result = history[next]) next += 1;
  }
  return next;
}

/**
 * Tells whether a message is one of the stored ones, each of which matches once. Calls match by id, and also by name if the client has ids of its own.
 * Only calls with results match by name, because the caller's functions may have been called before.
 */
function createStoredMatcher(stored: readonly ChatMessage[]): (message: AssistantMessage) => boolean {
  const hasResult = new Set(stored.flatMap((message) => (message.role === 'tool' ? [message.toolCallId] : [])));
  const answers = stored.filter((message) => message.role === 'assistant');
  let remaining = answers.flatMap(({ toolCalls }) => toolCalls);
  const isSame = (call: ToolCall, other: ToolCall): boolean =>
    other.id === call.id || (other.name === call.name && hasResult.has(other.id));
  return ({ content, toolCalls }) => {
    if (toolCalls.length === 0) return answers.some((answer) => textOf(answer.content).includes(textOf(content).trim()));
    const unmatched = [...remaining];
    for (const call of toolCalls) {
      const match = unmatched.findIndex((other) => isSame(call, other));
      if (match < 0) return false;
      unmatched.splice(match, 1);
    }
    remaining = unmatched;
    return true;
  };
}
