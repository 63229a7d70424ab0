import { expect, test } from 'vitest';
import { createConversationTurns } from '../../../../src/http/dialects/socket/conversation-turns.ts';
import type { ConversationTurn } from '../../../../src/http/dialects/socket/conversation-turns.ts';

const taken = (count: number, controllers = Array.from({ length: count }, () => new AbortController())) => {
  const turns = createConversationTurns();
  return {
    turns: controllers.map((controller) => turns.take('c', controller)) as [ConversationTurn, ConversationTurn, ...ConversationTurn[]],
    controllers,
  };
};

test('a chat begins when all before it have ended, whatever ended first', async () => {
  const { turns } = taken(3);
  const begun: number[] = [];
  const waiting = turns.map((turn, index) => turn.toBegin().then(() => begun.push(index)));
  await waiting[0];
  turns[1].end();
  await new Promise(setImmediate);
  expect(begun).toEqual([0]);
  turns[0].end();
  await Promise.all(waiting);
  expect(begun).toEqual([0, 1, 2]);
});

test('waiting ends when the chat is cancelled; an interruption cancels those before it alone', async () => {
  const { turns, controllers } = taken(3);
  const waiting = turns[1].toBegin();
  turns[1].interrupt(new Error('interrupted'));
  expect(controllers.map(({ signal }) => signal.aborted)).toEqual([true, false, false]);
  controllers[1]?.abort(new Error('cancelled'));
  await expect(waiting).rejects.toThrow('cancelled');
});

test('a chat is replaced by a later one that brings the conversation along, also after that one has ended', () => {
  const { turns } = taken(2);
  turns[0].replace();
  expect([turns[0].isReplaced, turns[1].isReplaced]).toEqual([false, false]);
  turns[1].replace();
  turns[1].end();
  expect(turns[0].isReplaced).toBe(true);
});
