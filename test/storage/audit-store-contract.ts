import { describe, expect, it } from 'vitest';
import type { AuditEntry, AuditQuery, AuditStore } from '../../src/core/stores/audit-store.ts';

const everything: AuditQuery = { from: 0, to: Number.MAX_SAFE_INTEGER, limit: 100 };
const entry = (callerId: string, fields: Partial<Omit<AuditEntry, 'id'>> = {}): Omit<AuditEntry, 'id'> => ({
  time: 1_000,
  callerId,
  action: 'preset.create',
  ...fields,
});

/** What every store of the audit log does. */
export function auditStoreContract(name: string, open: () => AuditStore): void {
  describe(`the audit log ${name}`, () => {
    const subjectsOf = async (store: AuditStore, query: Partial<AuditQuery> = {}) =>
      (await store.list({ ...everything, ...query })).map(({ subject }) => subject);

    async function filled(...entries: Omit<AuditEntry, 'id'>[]): Promise<AuditStore> {
      const store = open();
      for (const each of entries) await store.add(each);
      return store;
    }

    it('returns what was added, newest first', async () => {
      const detail = { fields: ['name'] };
      const store = await filled(entry('key_a'), entry('key_a/mia', { subject: 'b', ownerId: 'key_c/jo', detail, action: 'key.change' }));
      expect(await store.list(everything)).toEqual([
        { id: expect.any(Number), time: 1_000, callerId: 'key_a/mia', action: 'key.change', subject: 'b', ownerId: 'key_c/jo', detail },
        { id: expect.any(Number), time: 1_000, callerId: 'key_a', action: 'preset.create' },
      ]);
    });

    it('finds entries by time, caller and action, page by page', async () => {
      const store = await filled(
        entry('key_a', { subject: '1', time: 1_000 }),
        entry('key_a/mia', { subject: '2', time: 2_000, action: 'call.approve' }),
        entry('key_b', { subject: '3', time: 3_000, action: 'call.reject' }),
      );
      expect(await subjectsOf(store, { from: 2_000, to: 2_000 })).toEqual(['2']);
      expect(await subjectsOf(store, { callerId: 'key_a' })).toEqual(['2', '1']);
      expect(await subjectsOf(store, { callerId: 'key_a/mia' })).toEqual(['2']);
      expect(await subjectsOf(store, { action: 'call' })).toEqual(['3', '2']);
      expect(await subjectsOf(store, { action: 'call.reject' })).toEqual(['3']);
      expect(await subjectsOf(store, { action: 'cal' })).toEqual([]);
      expect(await subjectsOf(store, { limit: 2 })).toEqual(['3', '2']);
      const second = (await store.list(everything))[1]?.id;
      expect(await subjectsOf(store, { limit: 2, before: second })).toEqual(['1']);
    });

    it('deletes old entries, and the oldest of a key that has too many', async () => {
      const store = await filled(
        entry('key_a', { subject: 'old', time: 1 }),
        entry('key_a', { subject: '1' }),
        entry('key_a/mia', { subject: '2' }),
        entry('key_a', { subject: '3' }),
        entry('key_b', { subject: 'other' }),
      );
      await store.prune({ time: 1_000, maxOfKey: 2 });
      expect(await subjectsOf(store)).toEqual(['other', '3', '2']);
    });

    it('forgets a deleted person, and keeps what they did', async () => {
      const store = await filled(
        entry('key_a/mia', { subject: '1' }),
        entry('key_a/jo', { subject: '2', ownerId: 'key_a/mia' }),
        entry('key_b/mia', { subject: '3' }),
      );
      await store.deleteAllOf('key_a/mia');
      expect((await store.list(everything)).map(({ callerId, ownerId }) => [callerId, ownerId])).toEqual([
        ['key_b/mia', undefined],
        ['key_a/jo', 'key_a'],
        ['key_a', undefined],
      ]);
    });

    it('forgets the people of a deleted key, and keeps what was done with it', async () => {
      const people = Array.from({ length: 1_200 }, (_, index) => entry(`key_a/person ${index}`));
      const store = await filled(entry('key_a', { subject: 'own' }), ...people, entry('key_ab/jo'));
      await store.deleteAllOf('key_a');
      const left = await store.list({ ...everything, limit: 2_000 });
      expect(new Set(left.map(({ callerId }) => callerId))).toEqual(new Set(['key_ab/jo', 'key_a']));
      expect(left).toHaveLength(1_202);
    });

    it('leaves nothing of a person who signed in with a token', async () => {
      const store = await filled(entry('oidc_0123/mia', { ownerId: 'oidc_0123/mia' }));
      await store.deleteAllOf('oidc_0123/mia');
      expect(await store.list(everything)).toMatchObject([{ callerId: 'oidc', ownerId: 'oidc' }]);
    });
  });
}
