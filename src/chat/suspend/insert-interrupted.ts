import type { ChatMessage } from '../../core/chat/chat.ts';
import { lastLinkIn } from './links-in-messages.ts';

/** Stands for an answer of which the history has nothing: some models refuse a user's message right after results. */
const cancelledAnswer: ChatMessage = { role: 'assistant', content: 'The answer was cancelled.', toolCalls: [] };

/**
 * Inserts the calls of an interrupted run with their results (`rounds`) before the message that interrupts it, or before the part of its answer that
 * the client has. Returns the history unchanged if it has them already.
 */
export function insertInterrupted(messages: readonly ChatMessage[], rounds: readonly ChatMessage[]): ChatMessage[] {
  const question = messages.findLastIndex(({ role }) => role === 'user');
  if (rounds.length === 0 || question < 0) return [...messages];
  const questionBefore = messages.slice(0, question).findLastIndex(({ role }) => role === 'user');
  const between = messages.slice(questionBefore + 1, question);
  const ids = new Set(rounds.flatMap(callIdsIn));
  if (between.some((message) => callIdsIn(message).some((id) => ids.has(id)))) return [...messages];
  // An answer with a link will be replaced by everything that its run has done, including what was interrupted.
  if (between.some((message) => message.role === 'assistant' && lastLinkIn(message) !== undefined)) return [...messages];
  const hasAnswer = between.at(-1)?.role === 'assistant';
  const index = hasAnswer ? question - 1 : question;
  return [...messages.slice(0, index), ...rounds, ...(hasAnswer ? [] : [cancelledAnswer]), ...messages.slice(index)];
}

function callIdsIn(message: ChatMessage): string[] {
  return message.role === 'assistant' ? message.toolCalls.map(({ id }) => id) : [];
}
