import { beforeEach, describe, expect, it } from 'vitest';
import type { ChatMemory, ChatNote } from '../../src/core/chat-memory.ts';

export const noBounds = { time: 0, maxNotes: 100, maxCharacters: 10_000_000 };

export function chatNote(note: Partial<ChatNote> = {}): ChatNote {
  return { id: 'ada one', callerId: 'ada', value: "it's ünïcode\u2028", expires: 5_000, ...note };
}

/** What every memory of chats does, wherever it keeps its notes. */
export function describeChatMemory(name: string, createMemory: () => ChatMemory): void {
  describe(`the memory of chats in ${name}`, () => {
    let memory: ChatMemory;
    beforeEach(() => {
      memory = createMemory();
    });
    const keep = (id: string, fields: Partial<ChatNote> = {}, bounds: object = {}): Promise<void> =>
      memory.keep(chatNote({ id, ...fields }), { ...noBounds, ...bounds });
    const found = async (...ids: string[]): Promise<boolean[]> =>
      await Promise.all(ids.map(async (id) => (await memory.find(id, 1)) !== undefined));

    it('gives what was kept, the later of two, and nothing under a name that every object has', async () => {
      await keep('ada one');
      expect(await memory.find('ada one', 1)).toBe(chatNote().value);
      await keep('ada one', { value: '' });
      expect(await memory.find('ada one', 1)).toBe('');
      expect([await memory.find('constructor', 1), await memory.find('ada', 1)]).toEqual([undefined, undefined]);
    });

    it('forgets what has expired', async () => {
      await keep('a');
      expect([await memory.find('a', 4_999), await memory.find('a', 5_000)]).toEqual([chatNote().value, undefined]);
      await keep('b', { expires: 9_000 }, { time: 5_000 });
      expect(await found('a', 'b')).toEqual([false, true]);
    });

    it('keeps no more than it may: what was not written for the longest time goes', async () => {
      const bounds = { maxNotes: 2 };
      for (const id of ['a', 'b', 'a', 'c']) await keep(id, {}, bounds);
      expect(await found('a', 'b', 'c')).toEqual([true, false, true]);
      await keep('d', { value: 'x'.repeat(2_000) }, { maxCharacters: 3_000 });
      await keep('e', { value: 'x'.repeat(2_000) }, { maxCharacters: 3_000 });
      expect(await found('a', 'c', 'd', 'e')).toEqual([false, false, false, true]);
    });

    it('takes the room from whoever has the most', async () => {
      await keep('of bob', { callerId: 'bob', value: 'x' });
      for (const id of ['a', 'b', 'c', 'd']) await keep(id, {}, { maxNotes: 3 });
      expect(await found('of bob', 'a', 'b', 'c', 'd')).toEqual([true, false, false, true, true]);
      await keep('e', { value: 'x'.repeat(2_000) }, { maxCharacters: 2_900 });
      await keep('f', { value: 'x'.repeat(2_000) }, { maxCharacters: 2_900 });
      expect(await found('of bob', 'c', 'd', 'e', 'f')).toEqual([true, false, false, false, true]);
    });

    it('forgets one, and all of a caller', async () => {
      for (const id of ['a', 'b', 'c']) await keep(id);
      await keep('of bob', { callerId: 'bob' });
      await memory.forget('a');
      await memory.forget('never was');
      expect(await found('a', 'b', 'c', 'of bob')).toEqual([false, true, true, true]);
      await memory.forgetAllOf('ada');
      await memory.forgetAllOf('nobody');
      expect(await found('b', 'c', 'of bob')).toEqual([false, false, true]);
    });
  });
}
