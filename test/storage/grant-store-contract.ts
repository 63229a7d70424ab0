import { beforeEach, describe, expect, it } from 'vitest';
import { unusedClientMs, type GrantBounds, type GrantRecord, type GrantStore } from '../../src/core/stores/grant-store.ts';

/** `grantId: ''` leaves it out. */
export function testGrant({ grantId = 'grant', ...fields }: Partial<GrantRecord> = {}): GrantRecord {
  const record = { kind: 'refresh', id: 'token', clientId: 'client', ownerId: 'key/ada', expires: 100, value: { scope: 'mcp' } } as const;
  return { ...record, ...(grantId !== '' && { grantId }), ...fields };
}

export const grantBounds: GrantBounds = { time: 1, max: 100, maxOfOwner: 3 };

/** What every store of grants does, wherever it keeps them. */
export function describeGrantStore(name: string, createStore: (now: () => number) => GrantStore): void {
  describe(`grants in ${name}`, () => {
    let store: GrantStore;
    beforeEach(() => {
      store = createStore(() => 2);
    });
    const save = (fields: Partial<GrantRecord>, bounds: Partial<GrantBounds> = {}): Promise<boolean> =>
      store.save(testGrant(fields), { ...grantBounds, ...bounds });
    const left = async (...ids: string[]): Promise<string[]> => {
      const found = await Promise.all(ids.map(async (id) => (await store.find('refresh', id, 2))?.id));
      return found.flatMap((id) => id ?? []);
    };

    it('gives a record by its kind and id until it expires', async () => {
      await save({ value: { name: 'Ada \u2028', list: [1, null] } });
      expect(await store.find('refresh', 'token', 99)).toEqual(testGrant({ value: { name: 'Ada \u2028', list: [1, null] } }));
      expect([
        await store.find('access', 'token', 2),
        await store.find('refresh', 'token', 100),
        await store.find('refresh', '', 2),
      ]).toEqual([undefined, undefined, undefined]);
    });

    it('replaces a record of the same kind and id', async () => {
      await save({});
      await save({ value: { scope: 'new' } });
      expect(await store.find('refresh', 'token', 2)).toEqual(testGrant({ value: { scope: 'new' } }));
    });

    it('has a record used once, and keeps it for a while', async () => {
      await save({});
      const uses = [];
      for (const id of ['other', 'token', 'token']) uses.push(await store.use('refresh', id, { time: 2, keepUntil: 50 }));
      expect(uses).toEqual([false, true, false]);
      expect(await store.find('refresh', 'token', 49)).toEqual(testGrant({ used: 2, expires: 50 }));
      expect(await store.find('refresh', 'token', 50)).toBeUndefined();
    });

    it('has a record used once by requests that come at once', async () => {
      await save({});
      const uses = await Promise.all(Array.from({ length: 5 }, () => store.use('refresh', 'token', { time: 2, keepUntil: 50 })));
      expect(uses.filter(Boolean)).toHaveLength(1);
    });

    it('deletes a grant with all that exists by it', async () => {
      await save({ kind: 'grant', id: 'grant', grantId: '' });
      await save({ kind: 'access' });
      await save({});
      await save({ id: 'other', grantId: 'another' });
      await store.deleteGrant('grant');
      expect([await store.find('grant', 'grant', 2), await store.find('access', 'token', 2)]).toEqual([undefined, undefined]);
      expect(await left('token', 'other')).toEqual(['other']);
    });

    it('deletes what an owner granted to a client, or all of a client, or all of an owner', async () => {
      const owners = ['key/ada', 'key/adam', 'key', 'keys/ada'];
      const fill = async (): Promise<void> => {
        for (const ownerId of owners)
          for (const clientId of ['a', 'b'])
            await save({ id: `${ownerId} ${clientId}`, ownerId, clientId, grantId: `${ownerId} ${clientId}` });
      };
      const all = owners.flatMap((owner) => [`${owner} a`, `${owner} b`]);
      await fill();
      await store.deleteClient('a', 'key/ada');
      expect(await left(...all)).toEqual(all.filter((id) => id !== 'key/ada a'));
      await store.deleteClient('a');
      expect(await left(...all)).toEqual(all.filter((id) => id.endsWith('b')));
      await fill();
      await store.deleteAllOf('key/ada');
      expect(await left(...all)).toEqual(all.filter((id) => !id.startsWith('key/ada ')));
      await store.deleteAllOf('key');
      expect(await left(...all)).toEqual(['keys/ada a', 'keys/ada b']);
    });

    it('lists authorizations of everybody or an owner, newest first, with their last use', async () => {
      for (const [id, ownerId] of Object.entries({ one: 'key/ada', two: 'key/bob', three: 'key/ada' }))
        await save({ kind: 'authorization', id, grantId: id, ownerId });
      await store.noteUse('one', 7);
      const listed = async (filter: object): Promise<unknown> =>
        (await store.list('authorization', filter, 2)).map(({ id, used }) => (used === undefined ? id : `${id} ${used}`));
      expect(await listed({})).toEqual(['three', 'two', 'one 7']);
      expect(await listed({ ownerId: 'key/ada' })).toEqual(['three', 'one 7']);
      expect(await listed({ ownerId: 'key' })).toEqual(['three', 'two', 'one 7']);
      expect(await listed({ clientId: 'none' })).toEqual([]);
    });

    it('keeps a client for as long as it is told to', async () => {
      await save({ kind: 'client', id: 'client', expires: 10 });
      await store.keepClient('client', 50);
      await store.keepClient('client', 20);
      expect(await store.find('client', 'client', 49)).toMatchObject({ expires: 50 });
      expect(await store.find('client', 'client', 50)).toBeUndefined();
    });

    it.each(['grant', 'client', 'owner'])('lets a client go a day after its last grant, which ends with its %s', async (what) => {
      const far = 10 * unusedClientMs;
      for (const [id, ownerId] of [
        ['a', 'key/ada'],
        ['b', 'key/bob'],
      ] as const) {
        await save({ kind: 'client', id, clientId: id, ownerId: 'address', grantId: '', expires: far });
        await save({ kind: 'grant', id: `grant ${id}`, clientId: id, ownerId, grantId: '', expires: far });
      }
      if (what === 'grant') await store.deleteGrant('grant a');
      else if (what === 'client') await store.deleteClient('a', 'key/ada');
      else await store.deleteAllOf('key/ada');
      expect(await store.find('client', 'a', 3)).toMatchObject({ expires: 2 + unusedClientMs });
      expect(await store.find('client', 'b', 3)).toMatchObject({ expires: far });
    });

    it('deletes what has expired, and the oldest of a grant with too many', async () => {
      await save({ id: 'old', expires: 5, grantId: 'old' });
      await save({ id: 'other', grantId: 'other' }, { time: 5 });
      for (const id of ['1', '2', '3', '4']) await save({ id });
      expect(await left('old', 'other', '1', '2', '4')).toEqual(['other', '2', '4']);
    });

    it('makes room at the cost of the owner with the most', async () => {
      for (const id of ['a1', 'a2', 'a3']) await save({ kind: 'client', id, clientId: id, ownerId: 'address a', grantId: '' });
      const one = { kind: 'client', id: 'b1', clientId: 'b1', ownerId: 'address b', grantId: '' } as const;
      expect(await save(one, { max: 3 })).toBe(true);
      const found = await Promise.all(['a1', 'a2', 'a3', 'b1'].map(async (id) => (await store.find('client', id, 2))?.id));
      expect(found).toEqual([undefined, 'a2', 'a3', 'b1']);
    });

    it('takes no client with a grant from anybody, and refuses a new one instead', async () => {
      for (const id of ['a1', 'a2']) {
        await save({ kind: 'client', id, clientId: id, ownerId: 'address a', grantId: '' });
        await save({ kind: 'grant', id: `grant ${id}`, clientId: id, grantId: '' });
      }
      const more = { kind: 'client', id: 'b1', clientId: 'b1', ownerId: 'address b', grantId: '' } as const;
      expect(await save(more, { max: 2 })).toBe(false);
      expect(await store.find('client', 'b1', 2)).toBeUndefined();
      expect((await store.list('client', {}, 2)).map(({ id }) => id)).toEqual(['a2', 'a1']);
    });
  });
}
