import { beforeEach, describe, expect, it } from 'vitest';
import type { BegunSignIn, SignInBounds, SignInStore, StoredSignIn } from '../../src/core/stores/sign-in-store.ts';

export function testSignIn(fields: Partial<StoredSignIn> = {}): Omit<StoredSignIn, 'isUsed'> {
  return { id: 'link', callerId: 'key/ada', server: 'mail', expires: 100, ...fields };
}

export const signInBounds: SignInBounds = { time: 1, maxOfCaller: 3, max: 100, maxCharacters: 1_000_000 };
export const begunSignIn: BegunSignIn = { state: 'state', browser: 'browser', expires: 50, pending: { verifier: 'CANARY-verifier' } };

/** What every store of sign-ins does, wherever it keeps them. */
export function describeSignInStore(name: string, createStore: () => SignInStore): void {
  describe(`sign-ins in ${name}`, () => {
    let store: SignInStore;
    beforeEach(() => {
      store = createStore();
    });

    it('gives a link until it expires, and whose it is', async () => {
      const signIn = testSignIn({ person: { name: 'Ada \u2028', email: 'ada@x.test' } });
      await store.add(signIn, signInBounds);
      expect(await store.find('link', 99)).toEqual({ ...signIn, isUsed: false });
      expect([await store.find('link', 100), await store.find('other', 1), await store.find('', 1)]).toEqual([
        undefined,
        undefined,
        undefined,
      ]);
    });

    it('has a link used once', async () => {
      await store.add(testSignIn(), signInBounds);
      expect([await store.use('other', 2), await store.use('link', 100), await store.use('link', 2), await store.use('link', 2)]).toEqual([
        false,
        false,
        true,
        false,
      ]);
      expect(await store.find('link', 2)).toMatchObject({ isUsed: true });
    });

    it('has a state used once, until it expires, and keeps nothing that was pending', async () => {
      await store.add(testSignIn(), signInBounds);
      await store.add(testSignIn({ id: 'second' }), signInBounds);
      expect(await store.use('link', 2, begunSignIn)).toBe(true);
      expect(await store.use('link', 2, { ...begunSignIn, state: 'another' })).toBe(false);
      expect(await store.findBegun('state', 49)).toMatchObject({ id: 'link', callerId: 'key/ada', server: 'mail', begun: begunSignIn });
      expect([await store.findBegun('state', 50), await store.findBegun('another', 2)]).toEqual([undefined, undefined]);
      const finished = [await store.finish('state', 50), await store.finish('state', 49), await store.finish('state', 49)];
      expect(finished).toEqual([false, true, false]);
      expect(await store.findBegun('state', 49)).toBeUndefined();
      expect(await store.find('link', 49)).toMatchObject({ isUsed: true });
    });

    it('deletes what has expired, and the oldest of a caller with too many', async () => {
      await store.add(testSignIn({ id: 'old', expires: 5 }), signInBounds);
      await store.add(testSignIn({ id: 'eve', callerId: 'key/eve' }), { ...signInBounds, time: 5 });
      for (const id of ['1', '2', '3', '4']) await store.add(testSignIn({ id }), signInBounds);
      const left = await Promise.all(['old', 'eve', '1', '2', '4'].map(async (id) => (await store.find(id, 2))?.id));
      expect(left).toEqual([undefined, 'eve', undefined, '2', '4']);
    });

    it('takes from the key with the most when there are too many, however many people it has', async () => {
      const bounds = { ...signInBounds, max: 4 };
      await store.add(testSignIn({ id: 'other', callerId: 'other' }), bounds);
      for (const person of ['a', 'b', 'c', 'd', 'e']) await store.add(testSignIn({ id: person, callerId: `key/${person}` }), bounds);
      const left = await Promise.all(['other', 'a', 'b', 'e'].map(async (id) => (await store.find(id, 2))?.id));
      expect(left[0]).toBe('other');
      expect(left.slice(1)).not.toEqual(['a', 'b', 'e']);
    });

    it('forgets those of a caller, of a key with its people, and of a server', async () => {
      const owners = ['key', 'key/ada', 'key/eve', 'key2'];
      for (const callerId of owners) await store.add(testSignIn({ id: callerId, callerId }), signInBounds);
      await store.add(testSignIn({ id: 'files', callerId: 'key2', server: 'files' }), signInBounds);
      const left = (): Promise<unknown[]> => Promise.all([...owners, 'files'].map(async (id) => (await store.find(id, 2)) !== undefined));
      await store.deleteAllOf('key/eve');
      expect(await left()).toEqual([true, true, false, true, true]);
      await store.deleteAllOf('key');
      expect(await left()).toEqual([false, false, false, true, true]);
      await store.deleteOfServers(['mail']);
      expect(await left()).toEqual([false, false, false, false, true]);
    });
  });
}
