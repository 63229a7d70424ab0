import { beforeEach, describe, expect, it } from 'vitest';
import type { HistoryBounds, ResponseBounds, ResponseStore, StoredResponse } from '../../src/core/stores/response-store.ts';

export function storedResponse(fields: Partial<StoredResponse> & { answer?: string } = {}): StoredResponse {
  const { answer = 'Tall.', ...rest } = fields;
  const { id = 'resp_a' } = rest;
  return {
    id,
    callerId: 'ada',
    created: 1_000,
    previousId: undefined,
    isRunning: false,
    input: [{ type: 'message', role: 'user', content: 'How tall is it?', id: `in_${id}` }],
    response: { id, object: 'response', output: [{ type: 'message', id: `msg_${id}`, content: [{ type: 'output_text', text: answer }] }] },
    ...rest,
  };
}

const wideBounds: ResponseBounds = {
  ageMs: 1_000_000,
  responsesPerCaller: 1_000,
  charactersPerCaller: 1_000_000_000,
  characters: 1_000_000_000,
};
const wideHistory: HistoryBounds = { responses: 100, characters: 1_000_000 };

type CreateStore = (options: { now: () => number; bounds: ResponseBounds }) => ResponseStore;

/** What every store of responses does, wherever it keeps them. */
export function describeResponseStore(name: string, createStore: CreateStore): void {
  describe(`responses in ${name}`, () => {
    let time: number;
    let store: ResponseStore;
    const storeWithin = (bounds: Partial<ResponseBounds>): ResponseStore =>
      createStore({ now: () => time, bounds: { ...wideBounds, ...bounds } });
    beforeEach(() => {
      time = 10_000;
      store = storeWithin({});
    });
    const addAll = async (...responses: StoredResponse[]): Promise<void> => {
      for (const response of responses) await store.add(response);
    };
    /** Responses of which each builds on the one before. */
    const addChain = (...ids: string[]): Promise<void> =>
      addAll(...ids.map((id, index) => storedResponse({ id, previousId: ids[index - 1] })));
    const historyOf = async (id: string, bounds: Partial<HistoryBounds> = {}, callerId = 'ada'): Promise<unknown> => {
      const history = await store.findHistory(callerId, id, { ...wideHistory, ...bounds });
      return history.type === 'found' ? history.responses.map((response) => response.id) : history;
    };
    const left = async (callerId: string, ...ids: string[]): Promise<string[]> => {
      const found = await Promise.all(ids.map((id) => store.find(callerId, id)));
      return found.flatMap((response) => response?.id ?? []);
    };

    it('are found with all their fields, and share nothing with what was added', async () => {
      const response = storedResponse({
        input: [{ content: 'a "quoted" \u0000 ünïcode\u2028 one' }],
        previousId: 'resp_z',
        isRunning: true,
      });
      const before = structuredClone(response);
      await store.add(response);
      response.input.pop();
      expect(await store.find('ada', 'resp_a')).toEqual(before);
      expect(await store.find('ada', 'constructor')).toBeUndefined();
    });

    it('are their caller’s alone: to another one they are not there for any question', async () => {
      await addAll(storedResponse(), storedResponse({ id: 'resp_b', callerId: 'bob', previousId: 'resp_a' }));
      expect(await store.find('bob', 'resp_a')).toBeUndefined();
      expect(await historyOf('resp_a', {}, 'bob')).toEqual({ type: 'missing', id: 'resp_a' });
      expect(await historyOf('resp_b', {}, 'bob')).toEqual({ type: 'missing', id: 'resp_a' });
      expect(await store.findItems('bob', ['msg_resp_a'], 1_000)).toEqual(new Map());
      expect(await store.delete('bob', 'resp_a')).toBe(false);
      expect(await store.replaceRunning(storedResponse({ callerId: 'bob' }))).toBe(false);
      await store.deleteAllOf('bob');
      expect(await store.find('ada', 'resp_a')).toEqual(storedResponse());
    });

    it('are replaced while they run, once, and not when they are gone', async () => {
      await addAll(storedResponse({ isRunning: true, answer: '' }), storedResponse({ id: 'resp_b', isRunning: true }));
      expect(await store.replaceRunning(storedResponse({ isRunning: true, answer: 'Tal' }))).toBe(true);
      const ends = ['Tall.', 'Cancelled.'].map((answer) => store.replaceRunning(storedResponse({ answer })));
      expect(await Promise.all(ends)).toEqual([true, false]);
      expect(await store.find('ada', 'resp_a')).toEqual(storedResponse());
      await store.delete('ada', 'resp_b');
      expect(await store.replaceRunning(storedResponse({ id: 'resp_b' }))).toBe(false);
      expect(await left('ada', 'resp_a', 'resp_b')).toEqual(['resp_a']);
    });

    it('are found with those that they build on, the first one first', async () => {
      await addChain('a', 'b', 'c');
      await store.add(storedResponse({ id: 'fork', previousId: 'a' }));
      expect([await historyOf('a'), await historyOf('c'), await historyOf('fork')]).toEqual([['a'], ['a', 'b', 'c'], ['a', 'fork']]);
    });

    it('say which of those that they build on is gone', async () => {
      await addChain('a', 'b', 'c');
      await store.delete('ada', 'a');
      expect([await historyOf('c'), await historyOf('never')]).toEqual([
        { type: 'missing', id: 'a' },
        { type: 'missing', id: 'never' },
      ]);
    });

    it('build on so many, and so much, at most', async () => {
      await addChain('a', 'b', 'c');
      const { input, response } = storedResponse({ id: 'a' });
      const one = JSON.stringify({ input, response }).length;
      const tooLong = { type: 'too_long' };
      expect([await historyOf('c', { responses: 3 }), await historyOf('c', { responses: 2 })]).toEqual([['a', 'b', 'c'], tooLong]);
      expect([await historyOf('c', { characters: 3 * one }), await historyOf('c', { characters: 3 * one - 1 })]).toEqual([
        ['a', 'b', 'c'],
        tooLong,
      ]);
    });

    it('end where they build on each other in a circle', async () => {
      await addAll(storedResponse({ id: 'a', previousId: 'b' }), storedResponse({ id: 'b', previousId: 'a' }));
      expect(await historyOf('a')).toEqual({ type: 'too_long' });
    });

    it('give the items of their outputs', async () => {
      await addAll(storedResponse({ id: 'a' }), storedResponse({ id: 'b' }), storedResponse({ id: 'c', isRunning: true }));
      const items = await store.findItems('ada', ['msg_a', 'msg_b', 'msg_a', 'gone', 'in_a'], 10_000);
      const itemOf = (id: string): unknown => (storedResponse({ id }).response['output'] as unknown[])[0];
      expect(items).toEqual(new Map(['a', 'b'].map((id) => [`msg_${id}`, itemOf(id)])));
      expect(await store.findItems('ada', ['msg_a', 'msg_b'], 100)).toBeUndefined();
      await store.delete('ada', 'a');
      expect(await store.findItems('ada', ['msg_a'], 10_000)).toEqual(new Map());
    });

    it('are gone once they are deleted, one or all of a caller, and one deletion alone is told so', async () => {
      await addAll(storedResponse({ id: 'a' }), storedResponse({ id: 'b' }), storedResponse({ id: 'c', callerId: 'bob' }));
      expect(await Promise.all([store.delete('ada', 'a'), store.delete('ada', 'a')])).toEqual([true, false]);
      expect(await left('ada', 'a', 'b')).toEqual(['b']);
      await store.deleteAllOf('ada');
      await store.deleteAllOf('nobody');
      expect([await left('ada', 'a', 'b'), await left('bob', 'c')]).toEqual([[], ['c']]);
    });

    it('are gone with a key, those of its people too', async () => {
      await addAll(storedResponse({ id: 'a', callerId: 'key/ada' }), storedResponse({ id: 'b', callerId: 'key2' }));
      await store.deleteAllOf('key');
      expect([await left('key/ada', 'a'), await left('key2', 'b')]).toEqual([[], ['b']]);
    });

    it('are not there any more when they are too old, pruned or not', async () => {
      store = storeWithin({ ageMs: 5_000 });
      await store.add(storedResponse({ id: 'old' }));
      time = 13_000;
      await store.add(storedResponse({ id: 'new' }));
      time = 15_001;
      expect([await left('ada', 'old', 'new'), await historyOf('old'), await store.delete('ada', 'old')]).toEqual([
        ['new'],
        { type: 'missing', id: 'old' },
        false,
      ]);
      expect(await store.findItems('ada', ['msg_old', 'msg_new'], 10_000)).toHaveProperty('size', 1);
      await store.prune();
      time = 10_000;
      expect(await left('ada', 'old', 'new')).toEqual(['new']);
    });

    it('stay as long as one that builds on them', async () => {
      store = storeWithin({ ageMs: 5_000 });
      await addChain('a', 'b');
      await store.add(storedResponse({ id: 'fork', previousId: 'a' }));
      time = 14_000;
      await store.add(storedResponse({ id: 'c', previousId: 'b' }));
      time = 18_000;
      expect([await historyOf('c'), await left('ada', 'fork')]).toEqual([['a', 'b', 'c'], []]);
    });

    it('are forgotten beyond the number and the size that one caller may have, those used longest ago first', async () => {
      store = storeWithin({ responsesPerCaller: 3 });
      await addAll(storedResponse({ id: 'other', callerId: 'bob' }));
      for (const [id, previousId] of [['a'], ['b'], ['c', 'a'], ['d']] as const) {
        time += 1;
        await store.add(storedResponse({ id, previousId }));
      }
      expect([await left('ada', 'a', 'b', 'c', 'd'), await left('bob', 'other')]).toEqual([['a', 'c', 'd'], ['other']]);
      store = storeWithin({ charactersPerCaller: 1_500 });
      const answer = 'x'.repeat(600);
      await addAll(...['e', 'f'].map((id) => storedResponse({ id, answer })));
      expect(await left('ada', 'a', 'c', 'd', 'e', 'f')).toEqual(['f']);
    });

    it('are forgotten beyond what all may have of whoever has the most, and of nobody else', async () => {
      store = storeWithin({ characters: 4_000 });
      const answer = 'x'.repeat(400);
      await store.add(storedResponse({ id: 'a', answer }));
      for (const id of ['b', 'c', 'd', 'e', 'f', 'g']) await store.add(storedResponse({ id, callerId: 'bob', answer }));
      const ofBob = await left('bob', 'b', 'c', 'd', 'e', 'f', 'g');
      expect([await left('ada', 'a'), ofBob.length < 6, ofBob.at(-1)]).toEqual([['a'], true, 'g']);
    });
  });
}
