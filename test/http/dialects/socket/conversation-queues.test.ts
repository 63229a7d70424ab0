import { expect, it } from 'vitest';
import { createConversationQueues } from '../../../../src/http/dialects/socket/conversation-queues.ts';
import type { QueuedChat } from '../../../../src/http/dialects/socket/conversation-queues.ts';

const queued = (count: number, controllers = Array.from({ length: count }, () => new AbortController())) => {
  const queues = createConversationQueues();
  return {
    chats: controllers.map((controller) => queues.join('c', controller)) as [QueuedChat, QueuedChat, ...QueuedChat[]],
    controllers,
  };
};

it('a chat begins when all before it have ended, whatever ended first', async () => {
  const { chats } = queued(3);
  const begun: number[] = [];
  const waiting = chats.map((chat, index) => chat.toBegin().then(() => begun.push(index)));
  await waiting[0];
  chats[1].end();
  await new Promise(setImmediate);
  expect(begun).toEqual([0]);
  chats[0].end();
  await Promise.all(waiting);
  expect(begun).toEqual([0, 1, 2]);
});

it('waiting ends when the chat is cancelled; an interruption cancels those before it alone', async () => {
  const { chats, controllers } = queued(3);
  const waiting = chats[1].toBegin();
  chats[1].interrupt(new Error('interrupted'));
  expect(controllers.map(({ signal }) => signal.aborted)).toEqual([true, false, false]);
  controllers[1]?.abort(new Error('cancelled'));
  await expect(waiting).rejects.toThrow('cancelled');
});

it('a chat is replaced by a later one that brings the conversation along, also after that one has ended', () => {
  const { chats } = queued(2);
  chats[0].replace();
  expect([chats[0].isReplaced, chats[1].isReplaced]).toEqual([false, false]);
  chats[1].replace();
  chats[1].end();
  expect(chats[0].isReplaced).toBe(true);
});
