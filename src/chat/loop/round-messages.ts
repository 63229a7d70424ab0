import type { AssistantMessage, ChatMessage, ToolCall, ToolMessage } from '../../core/chat.ts';
import { limits } from '../../core/limits.ts';
import { withCanonicalArguments } from './repair-history.ts';
import type { Turn } from './request-model.ts';
import type { ToolCallResult } from '../tool-calls/tool-call-result.ts';

/**
 * What a round adds to the history. Arguments are a JSON object: what the model meant where it could be read, so that it can correct it,
 * else an empty one.
 */
export function messagesOfRound(
  { text, thought }: Pick<Turn, 'text' | 'thought'>,
  calls: readonly ToolCall[],
  results: readonly ToolCallResult[],
): ChatMessage[] {
  const resultOfCall = new Map(results.map((result) => [result.call, result]));
  const canonical = calls.map((call) => {
    const result = resultOfCall.get(call);
    return result === undefined ? call : { ...call, name: nameInHistory(result), arguments: argumentsInHistory(result) };
  });
  const assistant: AssistantMessage = {
    role: 'assistant',
    content: text === '' ? null : text,
    toolCalls: canonical,
    ...(thought && { extra: thought }),
  };
  return [assistant, ...results.map(toolMessage)];
}

/** For another model, behind another backend: what only the first one knows how to read would be refused there. */
export function forAnotherModel(messages: readonly ChatMessage[]): ChatMessage[] {
  return messages.map((message) => {
    if (message.role !== 'assistant') return message;
    const { extra: _thought, ...said } = message;
    return { ...said, toolCalls: message.toolCalls.map(({ extra: _signature, ...call }) => call) };
  });
}

/** OpenAI's limit for names; a history with another one is refused, and with it every later round. */
const longestName = 64;

/** A name that nobody offers may be anything a model can write. */
function nameInHistory({ tool, call }: ToolCallResult): string {
  return tool?.name ?? (call.name.replaceAll(/[^A-Za-z0-9_-]+/g, '_').slice(0, longestName) || 'unknown');
}

/** Of a call that could not be prepared what the model wrote, so that it can go on under a right name; of unreadable and too large ones nothing. */
function argumentsInHistory({ args, call }: ToolCallResult): string {
  if (args !== undefined) return JSON.stringify(args);
  return Buffer.byteLength(call.arguments) > limits.argumentsBytes ? '{}' : withCanonicalArguments(call).arguments;
}

/** What only the model needs follows the value: where the new thing is, how to get the next page. */
function contentFor({ outcome, text }: ToolCallResult): string {
  return outcome.type === 'result' && outcome.note !== undefined ? `${text}\n\n[${outcome.note}]` : text;
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
