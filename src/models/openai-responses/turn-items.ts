import type { EasyInputMessage, ResponseFunctionToolCall, ResponseInputItem } from 'openai/resources/responses/responses';
import { textOf, type AssistantMessage, type ToolCall } from '../../core/chat/chat.ts';
import { isJsonObject, textIn, type JsonObject, type JsonValue } from '../../shared/json/json.ts';
import { parseJson } from '../../shared/json/parse-exactly.ts';

/** The name in a message's `extra` under which the reasoning of its turn is kept. */
export const reasoningItems = 'reasoning_items';

/**
 * An entry of `reasoning_items`: the output items of a turn, in order. The API accepts reasoning only before the item that followed it, so
 * messages and calls are placeholders for what the message itself contains. `characters`: the length of one message, where several were joined into one text.
 */
export type TurnItem =
  | { type: 'message'; phase?: string; characters?: number }
  | { type: 'function_call' }
  | ({ type: string } & JsonObject);

/**
 * The item as it is sent back; undefined if it cannot be. Reasoning without content is refused, because nothing is stored under its id, and so
 * are members that occur only in answers, such as `status`. Calls of hosted tools (`web_search_call`) are sent back unchanged.
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

/** Clients can write the list, so other types are dropped: an `item_reference` could name the stored item of somebody else. */
function isHostedCall(type: string): boolean {
  return type.endsWith('_call') && type !== 'function_call' && type !== 'custom_tool_call';
}

/** The items of an assistant message: text, calls, and the reasoning, unless calls were removed or added since. */
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
  const messages = kept.filter(({ type }) => type === 'message');
  const items: ResponseInputItem[] = messages.length > 0 ? [] : messageItems(text);
  const waitingTexts = textsOf(text, messages);
  const waitingCalls = [...calls];
  // The API refuses reasoning that another item follows than its own, or none.
  let leading: ResponseInputItem[] = [];
  for (const item of kept) {
    if (item.type !== 'function_call' && item.type !== 'message') {
      leading.push(item as ResponseInputItem);
      continue;
    }
    const own =
      item.type === 'message' ? waitingTexts.splice(0, 1).flatMap((part) => messageItems(part, item['phase'])) : waitingCalls.splice(0, 1);
    if (own.length > 0) items.push(...leading, ...own);
    leading = [];
  }
  return items;
}

const betweenMessages = '\n\n';

/** The texts of the messages that were joined into one. If the text has changed since, the first message gets all of it. */
function textsOf(text: string, messages: readonly TurnItem[]): string[] {
  const texts: string[] = [];
  let rest = text;
  for (const message of messages) {
    const characters = 'characters' in message ? message.characters : undefined;
    if (typeof characters !== 'number') return [text];
    const start = characters > 0 && rest.length < text.length ? betweenMessages.length : 0;
    if (rest.length < start + characters || !betweenMessages.startsWith(rest.slice(0, start))) return [text];
    texts.push(rest.slice(start, start + characters));
    rest = rest.slice(start + characters);
  }
  return rest === '' ? texts : [text];
}

function messageItems(text: string, phase?: JsonValue): EasyInputMessage[] {
  if (text === '') return [];
  return [{ type: 'message', role: 'assistant', content: text, ...(isPhase(phase) && { phase }) }];
}

export function isPhase(phase: JsonValue | undefined): phase is 'commentary' | 'final_answer' {
  return phase === 'commentary' || phase === 'final_answer';
}

/** Without the item's `id`, with which the API would require its reasoning. Malformed arguments would be refused in every later request. */
function toCallItem({ id, name, arguments: text }: ToolCall): ResponseFunctionToolCall {
  return { type: 'function_call', call_id: id, name, arguments: isJsonObject(parseJson(text)) ? text : '{}' };
}

function readTurnItems(value: JsonValue | undefined): TurnItem[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((item): TurnItem[] => {
    if (!isJsonObject(item)) return [];
    if (item['type'] === 'function_call') return [{ type: 'function_call' }];
    if (item['type'] === 'message') {
      const { phase, characters } = item;
      return [{ type: 'message', phase: textIn(phase), ...(typeof characters === 'number' && { characters }) }];
    }
    return [toReturnedItem(item) ?? []].flat();
  });
}
