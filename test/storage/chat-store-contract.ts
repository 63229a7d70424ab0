import { beforeEach, describe, expect, it } from 'vitest';
import type { ChatBounds, ChatPage, ChatStore, StoredChat } from '../../src/core/stores/chat-store.ts';
import { chatPageCharacters } from '../../src/storage/sql/chats.ts';

export function storedChat(chat: Partial<StoredChat> & { question?: string; answer?: string } = {}): StoredChat {
  const { question = 'How tall is it?', answer = 'Tall.', ...fields } = chat;
  const id = chat.id ?? 'chat-a';
  return {
    id,
    callerId: 'ada',
    created: 1_000,
    model: 'model',
    metadata: {},
    messages: [{ role: 'user', content: question }],
    completion: { id, object: 'chat.completion', choices: [{ index: 0, message: { role: 'assistant', content: answer } }] },
    texts: { question, answer },
    ...fields,
  };
}

export const firstPage: ChatPage = { limit: 100, order: 'asc', after: undefined, model: undefined, metadata: {} };

const wideBounds: ChatBounds = { ageMs: 1_000_000, chatsPerCaller: 1_000, charactersPerCaller: 1_000_000_000, characters: 1_000_000_000 };

type CreateStore = (options: { now: () => number; bounds: ChatBounds }) => ChatStore;

/** What every store of chats does, wherever it keeps them. */
export function describeChatStore(name: string, createStore: CreateStore): void {
  describe(`chats in ${name}`, () => {
    let time: number;
    let store: ChatStore;
    const storeWithin = (bounds: Partial<ChatBounds>): ChatStore => createStore({ now: () => time, bounds: { ...wideBounds, ...bounds } });
    beforeEach(() => {
      time = 10_000;
      store = storeWithin({});
    });
    const saveAll = async (...chats: StoredChat[]): Promise<void> => {
      for (const chat of chats) await store.save(chat);
    };
    const listed = async (page: Partial<ChatPage> = {}, callerId = 'ada'): Promise<string[]> =>
      (await store.list(callerId, { ...firstPage, ...page })).chats.map(({ id }) => id);
    const found = async (query: string, callerId = 'ada'): Promise<string[]> =>
      (await store.search(callerId, query, 10)).map(({ id }) => id);

    it('are found with all their fields, and share nothing with what was saved', async () => {
      const chat = storedChat({
        metadata: { topic: "it's ünïcode\u2028" },
        messages: [{ role: 'user', content: 'a "quoted" \u0000 one' }],
      });
      const before = structuredClone(chat);
      await store.save(chat);
      chat.metadata['topic'] = 'changed';
      chat.messages.pop();
      expect(await store.find('ada', 'chat-a')).toEqual(before);
      expect(await store.find('ada', 'constructor')).toBeUndefined();
    });

    it('are their caller’s alone: to another one they are not there for any question', async () => {
      await saveAll(
        storedChat({ answer: 'a secret harbour' }),
        storedChat({ id: 'chat-b', callerId: 'bob', answer: 'a harbour of his own' }),
      );
      expect(await store.find('bob', 'chat-a')).toBeUndefined();
      expect(await listed({}, 'bob')).toEqual(['chat-b']);
      expect(await found('harbour', 'bob')).toEqual(['chat-b']);
      expect(await found('secret', 'bob')).toEqual([]);
      expect(await store.changeMetadata('bob', 'chat-a', { taken: 'yes' })).toBe(false);
      expect(await store.delete('bob', 'chat-a')).toBeUndefined();
      expect(await store.find('ada', 'chat-a')).toEqual(storedChat({ answer: 'a secret harbour' }));
    });

    it('are listed by time in both directions, page by page, also those of one moment and behind one that is gone', async () => {
      await saveAll(
        storedChat({ id: 'chat-b' }),
        storedChat({ id: 'chat-c', created: 2_000 }),
        storedChat({ id: 'chat-a' }),
        storedChat({ id: 'chat-d', created: 500 }),
      );
      expect(await listed()).toEqual(['chat-d', 'chat-a', 'chat-b', 'chat-c']);
      expect(await listed({ order: 'desc' })).toEqual(['chat-c', 'chat-b', 'chat-a', 'chat-d']);
      expect(await store.list('ada', { ...firstPage, limit: 2 })).toMatchObject({
        hasMore: true,
        chats: [{ id: 'chat-d' }, { id: 'chat-a' }],
      });
      expect(await store.list('ada', { ...firstPage, limit: 2, after: { id: 'chat-a', created: 1_000 } })).toMatchObject({
        hasMore: false,
      });
      expect(await listed({ after: { id: 'chat-a', created: 1_000 } })).toEqual(['chat-b', 'chat-c']);
      expect(await listed({ order: 'desc', after: { id: 'gone', created: 1_500 } })).toEqual(['chat-b', 'chat-a', 'chat-d']);
      const { callerId: _callerId, messages: _messages, texts: _texts, ...entry } = storedChat({ id: 'chat-d', created: 500 });
      expect((await store.list('ada', firstPage)).chats[0]).toEqual(entry);
    });

    it('are listed by model and by every entry of metadata that is asked for', async () => {
      await saveAll(
        storedChat({ id: 'a', metadata: { team: 'north', 'a.b"c': 'x' } }),
        storedChat({ id: 'b', metadata: { team: 'north' }, model: 'other' }),
        storedChat({ id: 'c', metadata: { team: 'south' } }),
      );
      expect(await listed({ model: 'other' })).toEqual(['b']);
      expect(await listed({ metadata: { team: 'north' } })).toEqual(['a', 'b']);
      expect(await listed({ metadata: { team: 'north' }, model: 'model' })).toEqual(['a']);
      expect(await listed({ metadata: { team: 'north', 'a.b"c': 'x' } })).toEqual(['a']);
      expect(await listed({ metadata: { constructor: 'x' } })).toEqual([]);
    });

    it('fill a page as far as its size goes, and always one', async () => {
      const large = 'x'.repeat(chatPageCharacters / 2);
      for (const id of ['a', 'b', 'c']) await store.save(storedChat({ id, completion: { id, large } }));
      expect(await store.list('ada', firstPage)).toMatchObject({ hasMore: true, chats: [{ id: 'a' }] });
      expect(await store.list('ada', { ...firstPage, after: { id: 'b', created: 1_000 } })).toMatchObject({
        hasMore: false,
        chats: [{ id: 'c' }],
      });
    });

    it('get other metadata in place of the earlier', async () => {
      await store.save(storedChat({ metadata: { a: '1', b: '2' } }));
      expect(await store.changeMetadata('ada', 'chat-a', { c: '3' })).toBe(true);
      expect((await store.find('ada', 'chat-a'))?.metadata).toEqual({ c: '3' });
      expect(await store.changeMetadata('ada', 'chat-z', {})).toBe(false);
    });

    it('are gone for every question once they are deleted, one or all of a caller', async () => {
      await saveAll(storedChat({ id: 'a' }), storedChat({ id: 'b' }), storedChat({ id: 'c', callerId: 'bob' }));
      expect(await store.delete('ada', 'a')).toEqual({ id: 'a', created: 1_000 });
      expect(await store.delete('ada', 'a')).toBeUndefined();
      expect([await listed(), await found('tall')]).toEqual([['b'], ['b']]);
      await store.deleteAllOf('ada');
      await store.deleteAllOf('nobody');
      expect([await listed(), await found('tall')]).toEqual([[], []]);
      expect([await listed({}, 'bob'), await found('tall', 'bob')]).toEqual([['c'], ['c']]);
    });

    it('are gone with a key, those of its people too', async () => {
      await saveAll(storedChat({ id: 'a', callerId: 'key/ada' }), storedChat({ id: 'b', callerId: 'key2' }));
      await store.deleteAllOf('key');
      expect([await listed({}, 'key/ada'), await listed({}, 'key2')]).toEqual([[], ['b']]);
    });

    it('are not there any more when they are too old, pruned or not', async () => {
      store = storeWithin({ ageMs: 5_000 });
      await saveAll(storedChat({ id: 'old', created: 6_000 }), storedChat({ id: 'new', created: 9_000 }));
      expect(await listed()).toEqual(['old', 'new']);
      time = 11_001;
      const answers = [await listed(), await found('tall'), await store.find('ada', 'old'), await store.delete('ada', 'old')];
      expect(answers).toEqual([['new'], ['new'], undefined, undefined]);
      expect(await store.changeMetadata('ada', 'old', {})).toBe(false);
      await store.prune();
      time = 10_000;
      expect(await listed()).toEqual(['new']);
    });

    it('are forgotten beyond the number and the size that one caller may have, the oldest first', async () => {
      store = storeWithin({ chatsPerCaller: 2 });
      await saveAll(...[3, 1, 2, 4].map((created) => storedChat({ id: `chat-${created}`, created: created * 1_000 })));
      await store.save(storedChat({ id: 'other', callerId: 'bob', created: 500 }));
      expect([await listed(), await found('tall'), await listed({}, 'bob')]).toEqual([
        ['chat-3', 'chat-4'],
        ['chat-4', 'chat-3'],
        ['other'],
      ]);
    });

    it('are forgotten beyond the size that one caller, and all together, may have', async () => {
      const { messages, completion } = storedChat();
      const one = JSON.stringify(messages).length + JSON.stringify(completion).length;
      store = storeWithin({ charactersPerCaller: 2 * one, characters: 3 * one });
      const make = (callerId: string, created: number) => storedChat({ id: `chat-${created}`, callerId, created });
      await saveAll(make('ada', 1), make('ada', 2), make('ada', 3));
      expect(await listed()).toEqual(['chat-2', 'chat-3']);
      await saveAll(make('bob', 4), make('bob', 5));
      expect([await listed(), await listed({}, 'bob')]).toEqual([['chat-3'], ['chat-4', 'chat-5']]);
    });

    it('are forgotten beyond what all may have of whoever has the most, and of nobody else', async () => {
      const { messages, completion } = storedChat();
      const one = JSON.stringify(messages).length + JSON.stringify(completion).length;
      store = storeWithin({ characters: 4 * one });
      const make = (callerId: string, created: number) => storedChat({ id: `chat-${created}`, callerId, created });
      await saveAll(make('ada', 1), ...[2, 3, 4, 5, 6].map((created) => make('bob', created)));
      expect([await listed(), await listed({}, 'bob')]).toEqual([['chat-1'], ['chat-4', 'chat-5', 'chat-6']]);
    });

    it('take the place of one of the same id', async () => {
      await saveAll(storedChat({ answer: 'first' }), storedChat({ answer: 'second' }));
      expect([await listed(), await found('first'), await found('second')]).toEqual([['chat-a'], [], ['chat-a']]);
    });

    it('are searched by their words, the best match first', async () => {
      await saveAll(
        storedChat({ id: 'both', question: 'Where does the ferry to Naxos leave?', answer: 'From Piraeus.' }),
        storedChat({ id: 'one', question: 'Is it far?', answer: 'The ferry takes five hours.', created: 2_000 }),
        storedChat({ id: 'none', question: 'Thanks', answer: 'You are welcome.' }),
      );
      expect(await found('ferry Naxos')).toEqual(['both', 'one']);
      expect((await store.search('ada', 'ferry Naxos', 1)).map(({ id }) => id)).toEqual(['both']);
      expect((await store.search('ada', 'Piraeus', 10))[0]).toEqual({
        id: 'both',
        created: 1_000,
        question: 'Where does the ferry to Naxos leave?',
        answer: 'From Piraeus.',
      });
    });

    it('of equal matches give the newest first', async () => {
      await saveAll(storedChat({ id: 'a', created: 1 }), storedChat({ id: 'b', created: 3 }), storedChat({ id: 'c', created: 2 }));
      expect(await found('tall')).toEqual(['b', 'c', 'a']);
    });

    it.each([
      ['another case, and accents', 'Der Weg über die Brücke', 'BRUCKE'],
      ['a beginning', 'three meetings on Monday', 'meeting'],
      ['the plural', 'one meeting on Monday', 'meetings'],
      ['a word beside one that is nowhere', 'the blue kettle', 'kettle zeppelin'],
      ['Chinese without spaces', '明天大阪的天气怎么样', '大阪天气'],
      ['a single Chinese letter', '我喜欢喝茶', '茶'],
      ['Japanese', '昨日東京タワーに行きました', '東京'],
      ['words of the query’s own language', 'the invoice of March', 'what did we say about the invoice'],
      ['what looks like the language of a query', 'NEAR and far', 'far" OR NEAR(* ^-:'],
    ])('are found by %s', async (_what, question, query) => {
      await saveAll(
        storedChat({ question, answer: '' }),
        storedChat({ id: 'chat-z', question: 'what did we say, something else', answer: '' }),
      );
      expect(await found(query)).toEqual(['chat-a']);
    });

    it.each(['', '   ', '" * -', '…', 'zeppelin', '天'])('are not found by %j', async (query) => {
      await store.save(storedChat({ question: 'plain words' }));
      expect(await found(query)).toEqual([]);
    });
  });
}
