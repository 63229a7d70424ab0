import type { AssistantMessage, ChatMessage, ToolCall } from '../../core/chat/chat.ts';
import type { ReturnedThought, ThoughtSeals } from '../../core/chat/thought.ts';
import type { JsonObject } from '../../shared/json/json.ts';
import { addThoughts } from './thought-fields.ts';

/** Characters of sealed texts in a request that are opened, from the last one: about 30 ms of work. */
export const openedCharacters = 8 * 1024 * 1024;
/** Sealed texts of one turn that are opened. No turn has so many, and a client may repeat one. */
const openedPerTurn = 256;

interface Opening {
  callerId: string;
  /** The model that is asked. */
  model: { id: string; owner: string };
  /** Public ids of the models that may answer in its place. Each gets its own thoughts back. */
  fallbacks: readonly string[];
  seals: ThoughtSeals;
}

/**
 * Replaces the texts that a client has returned by the fields that the model wants back. Those of another caller and of a model that is not asked are left out, and so
 * are Anthropic's own for models that are not Anthropic's.
 */
export function openReturned(messages: ChatMessage[], opening: Opening): ChatMessage[] {
  if (!messages.some((message) => message.role === 'assistant' && message.returned !== undefined)) return messages;
  let left = openedCharacters;
  const opened: ChatMessage[] = [];
  for (const message of messages.toReversed()) {
    if (message.role !== 'assistant' || message.returned === undefined) opened.push(message);
    else {
      const { returned, ...turn } = message;
      left -= returned.reduce((sum, { text }) => sum + text.length, 0);
      // Reasoning goes back with calls only: some backends refuse it with an answer.
      opened.push(left < 0 || turn.toolCalls.length === 0 ? turn : withOpened(turn, returned.slice(0, openedPerTurn), opening));
    }
  }
  return opened.toReversed();
}

function withOpened(turn: AssistantMessage, returned: readonly ReturnedThought[], opening: Opening): AssistantMessage {
  let extra = turn.extra ?? {};
  let writtenBy: string | undefined;
  const ofCalls = new Map<string, JsonObject>();
  for (const each of returned) {
    const { fields, call, fallback } = open(each, opening);
    writtenBy ??= fallback;
    extra = addThoughts(extra, fields);
    if (call !== undefined && each.callId !== undefined) ofCalls.set(each.callId, call);
  }
  const toolCalls = turn.toolCalls.map((call): ToolCall => {
    const more = ofCalls.get(call.id);
    return more === undefined ? call : { ...call, extra: { ...call.extra, ...more } };
  });
  return { ...turn, toolCalls, ...(Object.keys(extra).length > 0 && { extra }), ...(writtenBy !== undefined && { writtenBy }) };
}

function open(
  { text, shown = '', block }: ReturnedThought,
  { callerId, model, fallbacks, seals }: Opening,
): { fields: JsonObject; call?: JsonObject | undefined; fallback?: string } {
  if (block !== undefined && !seals.isOwn(text)) return { fields: model.owner === 'anthropic' ? { thinking_blocks: [block] } : {} };
  const sealed = seals.open(callerId, text);
  if (sealed === undefined || (sealed.model !== model.id && !fallbacks.includes(sealed.model))) return { fields: {} };
  const { fields = {}, field, call } = sealed;
  return {
    fields: field === undefined || shown === '' ? fields : { [field]: shown, ...fields },
    call,
    ...(sealed.model !== model.id && { fallback: sealed.model }),
  };
}
