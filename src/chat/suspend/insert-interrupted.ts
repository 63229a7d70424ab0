import type { ChatMessage } from '../../core/chat/chat.ts';
import { lastLinkIn } from './links-in-messages.ts';

/** What a model reads if the history has nothing of the answer: some refuse a user's message right after results. */
const cutAnswer: ChatMessage = { role: 'assistant', content: 'The answer was cancelled.', toolCalls: [] };

/**
 * Puts what an interrupted run did before the message that interrupts it, or before the part of its answer that the client has. `rounds`: its calls
 * with their results. Returns the history unchanged if it has them already.
 */
export function insertInterrupted(messages: readonly ChatMessage[], rounds: readonly ChatMessage[]): ChatMessage[] {
  const question = messages.findLastIndex(({ role }) => role === 'user');
  if (rounds.length === 0 || question < 0) return [...messages];
  const questionBefore = messages.slice(0, question).findLastIndex(({ role }) => role === 'user');
  const between = messages.slice(questionBefore + 1, question);
  const ids = new Set(rounds.flatMap(callIdsIn));
  if (between.some((message) => callIdsIn(message).some((id) => ids.has(id)))) return [...messages];
  // In the place of an answer with the link to an approval everything is told that its run has done, what was interrupted as well.
  if (between.some((message) => message.role === 'assistant' && lastLinkIn(message) !== undefined)) return [...messages];
  const isAnswerThere = between.at(-1)?.role === 'assistant';
  const place = isAnswerThere ? question - 1 : question;
  return [...messages.slice(0, place), ...rounds, ...(isAnswerThere ? [] : [cutAnswer]), ...messages.slice(place)];
}

function callIdsIn(message: ChatMessage): string[] {
  return message.role === 'assistant' ? message.toolCalls.map(({ id }) => id) : [];
}
