import {
  textOf,
  type AssistantMessage,
  type ChatMessage,
  type MessageContent,
  type ToolCall,
  type ToolMessage,
} from '../../core/chat/chat.ts';
import type { JsonObject } from '../../shared/json/json.ts';
import { forAnotherModel } from '../messages/round-messages.ts';
import { hasThoughts, withoutThoughts } from '../thoughts/thought-fields.ts';
import { appendStored } from './append-stored.ts';

/** A turn that ended with calls of the caller's functions, stored as JSON. `calls`: those, as the client got them. */
export interface StoredTurn {
  model: string;
  calls: readonly ToolCall[];
  messages: readonly ChatMessage[];
}

/** The messages of a history that are a stored turn, or a part of one, and results of its calls. */
interface ReturnedTurn {
  turn: StoredTurn;
  messages: readonly ChatMessage[];
  /** Another part of the turn is before it, with the gateway's calls. */
  isContinued: boolean;
}

/**
 * Where the stored turns are in a history, by the index of their first message. A client may have split a turn into a message for each call, even with
 * other messages between. If a call is there twice, only the last one counts: backends that restart their ids may have used it before.
 */
export function findReturned(
  messages: readonly ChatMessage[],
  found: ReadonlyMap<ToolCall, StoredTurn>,
): ReadonlyMap<number, ReturnedTurn> {
  const partsOf = new Map<StoredTurn, { index: number; messages: ChatMessage[] }[]>();
  for (let index = 0; index < messages.length;) {
    const message = messages[index];
    const turn = message?.role === 'assistant' ? turnOf(message, found) : undefined;
    const part = {
      index,
      messages: messages.slice(index, index + (turn === undefined ? 1 : lengthOf(turn, messages.slice(index), found))),
    };
    if (turn !== undefined) partsOf.set(turn, [...(partsOf.get(turn) ?? []).filter((before) => !shareCalls(before, part)), part]);
    index += part.messages.length;
  }
  const returned = new Map<number, ReturnedTurn>();
  for (const [turn, parts] of partsOf)
    for (const [position, part] of parts.entries()) returned.set(part.index, { turn, messages: part.messages, isContinued: position > 0 });
  return returned;
}

function shareCalls(one: { messages: readonly ChatMessage[] }, other: { messages: readonly ChatMessage[] }): boolean {
  const ids = new Set(callIdsIn(one.messages));
  return callIdsIn(other.messages).some((id) => ids.has(id));
}

function callIdsIn(messages: readonly ChatMessage[]): string[] {
  return messages.flatMap((message) => (message.role === 'assistant' ? message.toolCalls.map(({ id }) => id) : []));
}

/** Undefined also if some of its calls are of another turn: such a message is no turn that a model has written. */
function turnOf({ toolCalls }: AssistantMessage, found: ReadonlyMap<ToolCall, StoredTurn>): StoredTurn | undefined {
  const [turn, ...others] = new Set(toolCalls.flatMap((call) => found.get(call) ?? []));
  if (turn === undefined || others.length > 0) return undefined;
  return toolCalls.every((call) => found.has(call) || isOwnCall(turn, call)) ? turn : undefined;
}

/** A call that the gateway has executed in the turn. */
export function isOwnCall({ messages }: StoredTurn, { id }: ToolCall): boolean {
  return messages.some((message) => message.role === 'tool' && message.toolCallId === id);
}

/** How many messages at the start are the stored turn, or results of its calls. */
function lengthOf(turn: StoredTurn, messages: readonly ChatMessage[], found: ReadonlyMap<ToolCall, StoredTurn>): number {
  const ids = new Set<string>();
  const isPart = (message: ChatMessage): boolean => {
    if (message.role === 'tool') return ids.has(message.toolCallId);
    return message.role === 'assistant' && turnOf(message, found) === turn && !message.toolCalls.some(({ id }) => ids.has(id));
  };
  for (const [index, message] of messages.entries()) {
    if (!isPart(message)) return index;
    if (message.role === 'assistant') for (const { id } of message.toolCalls) ids.add(id);
  }
  return messages.length;
}

/** The models that may read a history, by their public ids. */
export interface Readers {
  /** The model of the run. */
  model: string;
  /** Those that may answer in its place. */
  fallbacks: readonly string[];
}

/**
 * Appends a stored turn to the history, with the client's results. What the model of the turn wants back is left out if that model is not asked, and
 * marked if it is a fallback, because no other model could read it.
 */
export function restoreTurn(
  history: readonly ChatMessage[],
  { turn, messages, isContinued }: ReturnedTurn,
  { model, fallbacks }: Readers,
): ChatMessage[] {
  const writtenBy = turn.model !== model && fallbacks.includes(turn.model) ? turn.model : undefined;
  const isOther = turn.model !== model && writtenBy === undefined;
  const hasResults = !isContinued && turn.messages.some(({ role }) => role === 'tool');
  if (!hasResults && !turn.messages.some(hasThoughts)) return [...history, ...messages];
  const stored = isOther ? forAnotherModel(turn.messages) : turn.messages.map((message) => markedAs(message, writtenBy));
  const answers = messages.filter((message) => message.role === 'assistant');
  const sent = new Map(answers.flatMap(({ toolCalls }) => toolCalls).map((call) => [storedId(call, turn), call]));
  const results = clientResults(messages, new Set(turn.calls.flatMap(({ id }) => sent.get(id)?.id ?? [])));
  if (hasResults) return [...appendStored(history, withSentCalls(stored, turn, sent)), ...results];
  const wanted = isOther ? undefined : stored.findLast((message) => message.role === 'assistant');
  return [...history, markedAs(joined(answers, sent, wanted), writtenBy), ...results];
}

/** A turn without a mark is the one of the model of the run; the run may have had other marks when it was stored. */
function markedAs<Message extends ChatMessage>(message: Message, writtenBy: string | undefined): Message {
  if (message.role !== 'assistant') return message;
  const { writtenBy: _before, ...unmarked } = message;
  return (writtenBy === undefined ? unmarked : { ...unmarked, writtenBy }) as Message;
}

/** The caller's calls with the ids that the client has for them, without those that it has not returned. */
function withSentCalls(stored: readonly ChatMessage[], { calls }: StoredTurn, sent: ReadonlyMap<string, ToolCall>): ChatMessage[] {
  const last = stored.findLastIndex((message) => message.role === 'assistant');
  const own = new Set(calls.map(({ id }) => id));
  return stored.map((message, index) => {
    if (index !== last || message.role !== 'assistant') return message;
    const toolCalls = message.toolCalls.flatMap((call): ToolCall[] => {
      const sentCall = sent.get(call.id);
      return own.has(call.id) ? (sentCall === undefined ? [] : [{ ...call, id: sentCall.id }]) : [call];
    });
    return { ...message, toolCalls };
  });
}

/** The client's messages as one, with what the model wants back, if it may have it. Text and arguments are the client's. */
function joined(
  answers: readonly AssistantMessage[],
  sent: ReadonlyMap<string, ToolCall>,
  wanted: AssistantMessage | undefined,
): AssistantMessage {
  const extraOf = new Map((wanted?.toolCalls ?? []).map((call) => [sent.get(call.id)?.id, call.extra]));
  const own = answers.map(withoutThoughts);
  const toolCalls = own.flatMap((answer) => answer.toolCalls).map((call) => withExtra(call, extraOf.get(call.id)));
  const [first = { role: 'assistant', content: null, toolCalls: [] }] = own;
  return withExtra({ ...first, content: joinedContent(own), toolCalls }, wanted?.extra);
}

function withExtra<Holder extends { extra?: JsonObject }>(holder: Holder, extra: JsonObject | undefined): Holder {
  return extra === undefined ? holder : { ...holder, extra: { ...holder.extra, ...extra } };
}

function joinedContent([first, ...others]: readonly AssistantMessage[]): MessageContent | null {
  const more = others.map(({ content }) => textOf(content)).filter((text) => text !== '');
  if (first === undefined || more.length === 0) return first?.content ?? null;
  if (Array.isArray(first.content)) return [...first.content, ...more.map((text) => ({ type: 'text' as const, text }))];
  return [first.content ?? '', ...more].filter((text) => text !== '').join('\n\n');
}

/** The results of the caller's own calls: those of the gateway's are among the stored messages. */
function clientResults(messages: readonly ChatMessage[], ids: ReadonlySet<string>): ToolMessage[] {
  return messages.filter((message) => message.role === 'tool' && ids.has(message.toolCallId)) as ToolMessage[];
}

/** The id under which a call that the client has sent is stored. */
function storedId({ id, sentId }: ToolCall, { calls }: StoredTurn): string {
  return sentId !== undefined && calls.some((call) => call.id === sentId) ? sentId : id;
}
