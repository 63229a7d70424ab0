import type { AssistantMessage, ChatMessage, ToolCall, ToolMessage } from '../../core/chat/chat.ts';
import { limits } from '../../core/limits.ts';
import { withCanonicalArguments } from './repair-history.ts';
import type { Turn } from '../turns/request-turn.ts';
import type { ToolCallResult } from '../tool-calls/tool-call-result.ts';

/**
 * The messages that a round adds to the history. Arguments are a JSON object: as the model gave them if they could be parsed, so that it can correct
 * them, otherwise an empty one. The text that functions have said follows the model's own, so that the model does not repeat it.
 */
export function messagesOfRound(
  { text, thought, writtenBy }: Pick<Turn, 'text' | 'thought' | 'writtenBy'>,
  calls: readonly ToolCall[],
  results: readonly ToolCallResult[],
): ChatMessage[] {
  const resultOfCall = new Map(results.map((result) => [result.call, result]));
  const canonical = calls.map((call) => {
    const result = resultOfCall.get(call);
    return result === undefined ? call : { ...call, name: nameInHistory(result), arguments: argumentsInHistory(result) };
  });
  const said = results.flatMap((result) => result.said ?? []).join('\n\n');
  const content = [text, said].filter((part) => part !== '').join('\n\n');
  const assistant: AssistantMessage = {
    role: 'assistant',
    content: content === '' ? null : content,
    toolCalls: canonical,
    ...(said !== '' && { said }),
    ...(thought && { extra: thought }),
    ...(writtenBy !== undefined && { writtenBy }),
  };
  return [assistant, ...results.map(toolMessage)];
}

/** Removes fields that only the previous model's backend understands; another one would refuse them. */
export function forAnotherModel(messages: readonly ChatMessage[]): ChatMessage[] {
  return messages.map((message) => {
    if (message.role !== 'assistant') return message;
    const { extra: _thought, writtenBy: _writer, ...said } = message;
    return { ...said, toolCalls: message.toolCalls.map(({ extra: _signature, ...call }) => call) };
  });
}

/** OpenAI's limit for names; a history with a longer one is refused, and so is every later round. */
const longestName = 64;

/** A call of an unknown function may have any name. */
function nameInHistory({ tool, call }: ToolCallResult): string {
  return tool?.name ?? (call.name.replaceAll(/[^A-Za-z0-9_-]+/g, '_').slice(0, longestName) || 'unknown');
}

/**
 * For a call that could not be prepared, the arguments as the model wrote them, so that it can retry with the right name; an empty object if they are
 * unreadable or too large.
 */
function argumentsInHistory({ shownArgs, call }: ToolCallResult): string {
  if (shownArgs !== undefined) return JSON.stringify(shownArgs);
  return Buffer.byteLength(call.arguments) > limits.argumentsBytes ? '{}' : withCanonicalArguments(call).arguments;
}

/** The result with what only the model needs: before it which arguments were renamed or ignored, after it notes such as how to get the next page. */
function contentFor({ outcome, text, notices = [] }: ToolCallResult): string {
  const note = outcome.type === 'result' && outcome.note !== undefined ? [`[${outcome.note}]`] : [];
  return [...(notices.length > 0 ? [`[${notices.join(' ')}]`] : []), text, ...note].join('\n\n');
}

function toolMessage(result: ToolCallResult): ToolMessage {
  const { call, tool } = result;
  return {
    role: 'tool',
    toolCallId: call.id,
    content: contentFor(result),
    name: nameInHistory(result),
    label: tool?.label ?? call.name,
  };
}
