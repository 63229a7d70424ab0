import type { EasyInputMessage, ResponseFunctionToolCall, ResponseInputItem } from 'openai/resources/responses/responses';
import { textOf, type AssistantMessage, type ToolCall } from '../../core/chat/chat.ts';
import { isJsonObject, textIn, type JsonObject, type JsonValue } from '../../shared/json/json.ts';
import { parseJson } from '../../shared/json/parse-exactly.ts';

/** The field of a message's `extra` with the reasoning of its turn. */
export const reasoningItems = 'reasoning_items';

/**
 * What `reasoning_items` holds: the output items of a turn in their order. The API takes reasoning back only in front of the item that it led to, so messages
 * and calls, whose content is in the message itself, are there by their type alone.
 */
export type TurnItem = { type: 'message'; phase?: string } | { type: 'function_call' } | ({ type: string } & JsonObject);

/**
 * The item as it is sent back, or undefined for one that cannot be. Reasoning without its content would be looked up among stored responses, and nothing is
 * stored. Hosted tools (`web_search_call`) are kept whole. Fields of the answer alone, such as `status`, are refused in reasoning.
 */
export function toReturnedItem(item: JsonObject): ({ type: string } & JsonObject) | undefined {
  const { type } = item;
  if (typeof type !== 'string') return undefined;
  if (type !== 'reasoning') return isHostedCall(type) ? { ...item, type } : undefined;
  const { id, summary, content, encrypted_content: encrypted } = item;
  const hasContent = Array.isArray(content) && content.length > 0;
  if (typeof encrypted !== 'string' && !hasContent) return undefined;
  return {
    type,
    ...(typeof id === 'string' && { id }),
    summary: Array.isArray(summary) ? summary : [],
    ...(hasContent && { content }),
    ...(typeof encrypted === 'string' && { encrypted_content: encrypted }),
  };
}

/** Not a reference to a stored item, which may be somebody else's: a client could have written the list. */
function isHostedCall(type: string): boolean {
  return type.endsWith('_call') && type !== 'function_call' && type !== 'custom_tool_call';
}

/** The items of an assistant's turn: its text and calls, and its reasoning where the calls that it led to are still the same. */
export function toTurnItems(message: AssistantMessage): ResponseInputItem[] {
  const text = textOf(message.content) || textIn(message.extra?.['refusal']);
  const calls = message.toolCalls.map(toCallItem);
  const kept = readTurnItems(message.extra?.[reasoningItems]);
  const keptCalls = kept.filter(({ type }) => type === 'function_call').length;
  if (keptCalls === 0 || keptCalls !== calls.length) return [...messageItems(text), ...calls];
  return inOrder(kept, { text, calls });
}

function inOrder(
  kept: readonly TurnItem[],
  { text, calls }: { text: string; calls: readonly ResponseFunctionToolCall[] },
): ResponseInputItem[] {
  const items: ResponseInputItem[] = kept.some(({ type }) => type === 'message') ? [] : messageItems(text);
  const waitingCalls = [...calls];
  let hasSpoken = items.length > 0;
  for (const item of kept) {
    if (item.type === 'function_call') items.push(...waitingCalls.splice(0, 1));
    else if (item.type !== 'message') items.push(item as unknown as ResponseInputItem);
    else if (!hasSpoken) {
      items.push(...messageItems(text, item['phase']));
      hasSpoken = true;
    }
  }
  // Reasoning that leads to nothing is refused.
  const last = items.findLastIndex(({ type }) => type === 'message' || type === 'function_call');
  return items.slice(0, last + 1);
}

function messageItems(text: string, phase?: JsonValue): EasyInputMessage[] {
  if (text === '') return [];
  const isPhase = phase === 'commentary' || phase === 'final_answer';
  return [{ type: 'message', role: 'assistant', content: text, ...(isPhase && { phase }) }];
}

/** Without the item's own id, by which the API would demand the reasoning before it. Arguments that are no object are refused in every later request. */
function toCallItem({ id, name, arguments: text }: ToolCall): ResponseFunctionToolCall {
  return { type: 'function_call', call_id: id, name, arguments: isJsonObject(parseJson(text)) ? text : '{}' };
}

function readTurnItems(value: JsonValue | undefined): TurnItem[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((item): TurnItem[] => {
    if (!isJsonObject(item)) return [];
    if (item['type'] === 'function_call') return [{ type: 'function_call' }];
    if (item['type'] === 'message') return [{ type: 'message', phase: textIn(item['phase']) }];
    return [toReturnedItem(item) ?? []].flat();
  });
}
