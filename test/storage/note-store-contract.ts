import { beforeEach, describe, expect, it } from 'vitest';
import type { NoteStore, Note } from '../../src/core/stores/note-store.ts';

export const noBounds = { time: 0, maxNotes: 100, maxCharacters: 10_000_000 };

export function testNote(note: Partial<Note> = {}): Note {
  return { id: 'ada one', callerId: 'ada', value: "it's ünïcode\u2028", expires: 5_000, ...note };
}

/** What every store of notes does, wherever it keeps its notes. */
export function describeNoteStore(name: string, createStore: () => NoteStore): void {
  describe(`notes in ${name}`, () => {
    let store: NoteStore;
    beforeEach(() => {
      store = createStore();
    });
    const keep = (id: string, fields: Partial<Note> = {}, bounds: object = {}): Promise<void> =>
      store.save(testNote({ id, ...fields }), { ...noBounds, ...bounds });
    const found = async (...ids: string[]): Promise<boolean[]> =>
      await Promise.all(ids.map(async (id) => (await store.find(id, 1)) !== undefined));

    it('gives what was kept, the later of two, and nothing under a name that every object has', async () => {
      await keep('ada one');
      expect(await store.find('ada one', 1)).toBe(testNote().value);
      await keep('ada one', { value: '' });
      expect(await store.find('ada one', 1)).toBe('');
      expect([await store.find('constructor', 1), await store.find('ada', 1)]).toEqual([undefined, undefined]);
    });

    it('knows whether it has any', async () => {
      expect(await store.isEmpty()).toBe(true);
      await keep('a');
      expect(await store.isEmpty()).toBe(false);
    });

    it('forgets what has expired', async () => {
      await keep('a');
      expect([await store.find('a', 4_999), await store.find('a', 5_000)]).toEqual([testNote().value, undefined]);
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

    it('forgets what expires until a time, and says how many those were', async () => {
      await keep('a');
      await keep('b', { expires: 9_000 });
      expect([await store.deleteExpired(4_999), await store.deleteExpired(5_000)]).toEqual([0, 1]);
      expect(await found('a', 'b')).toEqual([false, true]);
    });

    it('forgets one, and all of a caller', async () => {
      for (const id of ['a', 'b', 'c']) await keep(id);
      await keep('of bob', { callerId: 'bob' });
      await store.delete('a');
      await store.delete('never was');
      expect(await found('a', 'b', 'c', 'of bob')).toEqual([false, true, true, true]);
      await store.deleteAllOf('ada');
      await store.deleteAllOf('nobody');
      expect(await found('b', 'c', 'of bob')).toEqual([false, false, true]);
    });

    it('forgets with a key what its people have, and nothing of a key with a longer name', async () => {
      await keep('of the key', { callerId: 'key' });
      await keep('of ada', { callerId: 'key/ada' });
      await keep('of eve', { callerId: 'key/eve' });
      await keep('of another key', { callerId: 'key2' });
      await store.deleteAllOf('key/eve');
      expect(await found('of the key', 'of ada', 'of eve', 'of another key')).toEqual([true, true, false, true]);
      await store.deleteAllOf('key');
      expect(await found('of the key', 'of ada', 'of another key')).toEqual([false, false, true]);
    });
  });
}
