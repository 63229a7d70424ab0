import type { AssistantMessage, ChatMessage, ToolCall, ToolMessage } from '../../core/chat/chat.ts';
import { isOwnCall, type StoredTurn } from './returned-turns.ts';

/** A call or result of a history that belongs to a stored turn. `call`: as it is stored. */
export interface FoundCall {
  turn: StoredTurn;
  call: ToolCall;
}

export type FoundCalls = ReadonlyMap<ToolCall | ToolMessage, FoundCall>;

/**
 * A history in which each message has the calls of one turn, as models write them: some clients merge turns into one message, and others leave out the
 * message with the calls, so that only results are left. Calls get the id under which they are stored as `sentId`.
 */
export function regroupReturned(
  messages: readonly ChatMessage[],
  found: FoundCalls,
): { messages: ChatMessage[]; turns: ReadonlyMap<ToolCall, StoredTurn> } {
  const turns = new Map<ToolCall, StoredTurn>();
  const regrouped: ChatMessage[] = [];
  for (let index = 0; index < messages.length;) {
    const message = messages[index];
    const results = resultsFrom(messages, index + (message?.role === 'tool' ? 0 : 1));
    if (message?.role === 'assistant' && message.toolCalls.length > 0) {
      regrouped.push(...separated(message, results, { found, turns }));
      index += 1 + results.length;
    } else if (message?.role === 'tool' && found.has(message)) {
      regrouped.push(...withCallsBefore(results, { found, turns }));
      index += results.length;
    } else {
      if (message !== undefined) regrouped.push(message);
      index += 1;
    }
  }
  return { messages: regrouped, turns };
}

interface Regrouping {
  found: FoundCalls;
  turns: Map<ToolCall, StoredTurn>;
}

function resultsFrom(messages: readonly ChatMessage[], start: number): ToolMessage[] {
  const results: ToolMessage[] = [];
  for (let message = messages[start]; message?.role === 'tool'; message = messages[start + results.length]) results.push(message);
  return results;
}

/** One message for each turn with calls in this message, each followed by its results. The other calls come last. */
function separated(message: AssistantMessage, results: readonly ToolMessage[], { found, turns }: Regrouping): ChatMessage[] {
  const groups = new Map<StoredTurn | undefined, ToolCall[]>();
  const known = new Set(message.toolCalls.flatMap((call) => found.get(call)?.turn ?? []));
  for (const call of message.toolCalls) {
    const match = found.get(call);
    const turn = match?.turn ?? [...known].find((each) => isOwnCall(each, call));
    const asSent = match === undefined ? call : withStoredId(call, match);
    if (match !== undefined) turns.set(asSent, match.turn);
    groups.set(turn, [...(groups.get(turn) ?? []), asSent]);
  }
  let left = [...results];
  const parts = [...groups.values()].flatMap((toolCalls, position): ChatMessage[] => {
    const ids = new Set(toolCalls.map(({ id }) => id));
    const own = groups.size === 1 ? left : left.filter(({ toolCallId }) => ids.has(toolCallId));
    left = left.filter((result) => !own.includes(result));
    return [position === 0 ? { ...message, toolCalls } : { role: 'assistant', content: null, toolCalls }, ...own];
  });
  return [...parts, ...left];
}

function withStoredId(call: ToolCall, { call: { id } }: FoundCall): ToolCall {
  return call.id === id || call.sentId === id ? call : { ...call, sentId: id };
}

/** Adds the message with the calls before results whose calls are not in the history. */
function withCallsBefore(results: readonly ToolMessage[], { found, turns }: Regrouping): ChatMessage[] {
  const added = new Map<StoredTurn, { toolCalls: ToolCall[]; results: ToolMessage[] }>();
  const others: ToolMessage[] = [];
  for (const result of results) {
    const match = found.get(result);
    if (match === undefined) {
      others.push(result);
      continue;
    }
    const part = added.get(match.turn) ?? { toolCalls: [], results: [] };
    const call = withStoredId({ ...match.call, id: result.toolCallId }, match);
    turns.set(call, match.turn);
    part.toolCalls.push(call);
    part.results.push(result);
    added.set(match.turn, part);
  }
  const parts = [...added.values()].flatMap((part): ChatMessage[] => [
    { role: 'assistant', content: null, toolCalls: part.toolCalls },
    ...part.results,
  ]);
  return [...parts, ...others];
}
