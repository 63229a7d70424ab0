import { expect, it } from 'vitest';
import type { ChatMessage } from '../../../../src/core/chat/chat.ts';
import {
  createKeptConversations,
  conversationMs,
  conversationMessages,
  conversationCharacters,
} from '../../../../src/http/dialects/socket/kept-conversations.ts';
import type {
  ConversationId,
  KeptConversations,
  KeptConversationsOptions,
} from '../../../../src/http/dialects/socket/kept-conversations.ts';
import { repairHistory } from '../../../../src/chat/messages/repair-history.ts';
import { memoryNotes } from '../../../_support/memory-stores.ts';
import { countReads } from '../../../_support/count-reads.ts';

const ada: ConversationId = { callerId: 'ada', of: 'chat', id: 'c' };

function keptConversations(options: Partial<KeptConversationsOptions> = {}): KeptConversations {
  return createKeptConversations({
    store: memoryNotes(),
    fallback: memoryNotes(),
    now: () => 0,
    onFault: (error) => {
      throw error;
    },
    ...options,
  });
}

const said = (role: 'system' | 'user', content: string): ChatMessage => ({ role, content });
function turn(question: string, result = 'done'): ChatMessage[] {
  const call = { id: question, name: 'look', arguments: '{}' };
  return [
    said('user', question),
    { role: 'assistant', content: null, toolCalls: [call] },
    { role: 'tool', toolCallId: question, name: 'look', content: result },
    { role: 'assistant', content: `Answer to ${question}`, toolCalls: [] },
  ];
}
const conversation = (messages: ChatMessage[], hasReturnedCalls = false) => ({ model: 'model', messages, hasReturnedCalls });

it('is found by its caller and id, and for nobody and nothing else', async () => {
  const kept = keptConversations();
  await kept.save(ada, conversation(turn('a')));
  expect(await kept.find(ada, 'model')).toEqual(turn('a'));
  for (const other of [{ callerId: 'bob' }, { of: 'session' as const }, { id: 'd' }])
    expect(await kept.find({ ...ada, ...other }, 'model')).toEqual([]);
});

it('is forgotten a day after its last message, and with its caller', async () => {
  let time = 0;
  const store = memoryNotes();
  const kept = keptConversations({ now: () => time, store });
  await kept.save(ada, conversation(turn('a')));
  time = conversationMs - 1;
  expect(await kept.find(ada, 'model')).toHaveLength(4);
  await kept.save(ada, conversation(turn('a')));
  time += conversationMs;
  expect(await kept.find(ada, 'model')).toEqual([]);
  await kept.save(ada, conversation(turn('a')));
  await store.deleteAllOf('ada');
  expect(await kept.find(ada, 'model')).toEqual([]);
});

it('beyond its bounds loses its oldest turns as a whole, and never its system prompt', async () => {
  const kept = keptConversations();
  const large = 'x'.repeat(conversationCharacters / 4);
  const turns = ['a', 'b', 'c', 'd', 'e'].map((question) => turn(question, large));
  await kept.save(ada, conversation([said('system', 'Be brief.'), ...turns.flat()]));
  const found = await kept.find(ada, 'model');
  expect(found).toEqual([said('system', 'Be brief.'), ...turns.slice(2).flat()]);
  expect(repairHistory(found)).toEqual(found);
  const many = Array.from({ length: conversationMessages }, (_, number) => said('user', `${number}`));
  await kept.save(ada, conversation([...turn('first'), ...many]));
  expect(await kept.find(ada, 'model')).toEqual(many);
});

it('of many messages is kept by looking at each a few times', async () => {
  const kept = keptConversations();
  const messages = Array.from({ length: 10 * conversationMessages }, () => said('user', ''));
  const { counted, reads } = countReads(messages);
  await kept.save(ada, conversation(counted));
  expect(reads()).toBeLessThan(messages.length * 10);
  expect(await kept.find(ada, 'model')).toHaveLength(conversationMessages);
});

it('of a single turn that is too large, results are shortened', async () => {
  const kept = keptConversations();
  await kept.save(ada, conversation([...turn('before'), ...turn('now', 'x'.repeat(conversationCharacters))]));
  const found = await kept.find(ada, 'model');
  expect(found.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
  expect(found[2]?.content).toMatch(/^x+\n\n\[The rest is not kept\.\]$/);
});

it('keeps fields of a backend only until its turn is over, and gives them to no other model', async () => {
  const kept = keptConversations();
  const thought: ChatMessage = {
    role: 'assistant',
    content: null,
    toolCalls: [{ id: '1', name: 'mine', arguments: '{}' }],
    extra: { reasoning: 'Hm' },
  };
  const messages = [said('user', 'a'), thought];
  await kept.save(ada, conversation(messages, true));
  expect(await kept.find(ada, 'model')).toEqual(messages);
  expect((await kept.find(ada, 'other'))[1]).not.toHaveProperty('extra');
  await kept.save(ada, conversation(messages));
  expect((await kept.find(ada, 'model'))[1]).not.toHaveProperty('extra');
});

it('is kept in memory while the store cannot be written, and only there', async () => {
  const store = memoryNotes();
  let isBroken = true;
  const faults: unknown[] = [];
  const failing = {
    ...store,
    save: (...note: Parameters<typeof store.save>) => (isBroken ? Promise.reject(new Error('full')) : store.save(...note)),
  };
  const kept = keptConversations({ store: failing, onFault: (error) => faults.push(error) });
  await kept.save(ada, conversation(turn('a')));
  expect([await kept.find(ada, 'model'), faults.length]).toEqual([turn('a'), 1]);
  isBroken = false;
  await kept.save(ada, conversation(turn('b')));
  expect(await kept.find(ada, 'model')).toEqual(turn('b'));
});
