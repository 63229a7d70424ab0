import pLimit from 'p-limit';
import { GatewayError, invalidField, unknownId } from '../core/errors.ts';
import type { KeyRecord, Registry } from '../core/stores/registry.ts';
import { fixedCallerId, openCallerId } from '../core/callers/caller.ts';
import { createKeyText, hashKey, markOf } from './derive-key-hash.ts';
import { isExpired } from './stored-keys.ts';

/** The fields of a key that an administrator sets. */
export type KeyFields = Omit<KeyRecord, 'id' | 'hash' | 'secretMark' | 'createdAt'>;

/** Administration of the stored keys. Every function may reject with GatewayError `storage_unavailable`. */
export interface ApiKeys {
  list(): Promise<KeyRecord[]>;
  /** `key` is the key itself, which cannot be read again. @throws GatewayError `invalid_request` when the first key is not an administrator's. */
  create(fields: KeyFields): Promise<{ record: KeyRecord; key: string }>;
  /** @throws GatewayError `not_found`, `read_only` for the fixed key, `conflict` when no administrator would be left. */
  change(id: string, toFields: (record: KeyRecord) => KeyFields): Promise<KeyRecord>;
  /** @throws GatewayError `not_found`, `read_only` for the fixed key, `conflict` when keys without an administrator would be left. */
  delete(id: string): Promise<void>;
  /** Creates an administrator key and returns it; it cannot be read again. Undefined if there is a key already, stored or `TOOLWHARF_ADMIN_KEY`. */
  createFirst: () => Promise<string | undefined>;
}

interface ApiKeysOptions {
  registry: Registry;
  pepper: string;
  /** Whether `TOOLWHARF_ADMIN_KEY` is set: it counts as an administrator's key. */
  hasFixedKey: boolean;
  /** Returns an unguessable, unique id. */
  newId: () => string;
  now: () => number;
  /** Called right after every write, to drop cached keys. */
  forget(): void;
  closeSessionsOf(callerId: string): Promise<void>;
  /** Cancels active runs and calls, because the key has changed. */
  cancelRunsOf(keyId: string): void;
  /** Ends what a deleted key is doing, and deletes everything of it and its people. */
  deleteAllOf(keyId: string): Promise<void>;
  /** Called when the last stored key was deleted. */
  onLastDeleted?(): void;
}

export function createApiKeys(options: ApiKeysOptions): ApiKeys {
  const { registry, pepper, hasFixedKey, newId, now } = options;
  /** Serializes changes, so that two administrators who delete each other's keys cannot both succeed. */
  const inTurn = pLimit(1);

  /** Drops the cache even after a failed write, which may have taken effect. */
  async function write(change: () => Promise<void>): Promise<void> {
    try {
      await change();
    } finally {
      options.forget();
    }
  }

  function requireChangeable(id: string): void {
    if (hasFixedKey && id === fixedCallerId)
      throw new GatewayError('read_only', 'This key comes from TOOLWHARF_ADMIN_KEY. Change it there and restart the gateway.');
  }

  async function requireKey(id: string): Promise<{ record: KeyRecord; others: KeyRecord[] }> {
    requireChangeable(id);
    const records = await registry.listKeys();
    const record = records.find((candidate) => candidate.id === id);
    if (record === undefined) throw unknownId('key', id, 'GET /api/keys');
    return { record, others: records.filter((candidate) => candidate !== record) };
  }

  const isAdministrator = (record: KeyRecord): boolean => record.role === 'admin' && !isExpired(record, now());

  function requireAdministratorAmong(records: readonly KeyRecord[], what: string): void {
    if (hasFixedKey || records.some(isAdministrator)) return;
    throw new GatewayError(
      'conflict',
      `This is the last administrator key, so it cannot be ${what}. Create another administrator key first.`,
    );
  }

  /** Whoever has the key names the person, so a person must not get an administrator's rights. */
  function requireUserRole({ role, people }: KeyFields): void {
    if (people !== undefined && role === 'admin')
      throw invalidField('users', 'a key that speaks for several people must have the role "user".');
  }

  async function store(fields: KeyFields): Promise<{ record: KeyRecord; key: string }> {
    const key = createKeyText();
    const record: KeyRecord = { ...fields, id: `key_${newId()}`, hash: hashKey(key, pepper), secretMark: markOf(pepper), createdAt: now() };
    await write(() => registry.createKey(record));
    return { record, key };
  }

  return {
    list: () => registry.listKeys(),

    create: (fields) =>
      inTurn(async () => {
        requireUserRole(fields);
        const isFirst = (await registry.listKeys()).length === 0;
        if (isFirst && !hasFixedKey && fields.role !== 'admin') {
          throw invalidField(
            'role',
            'the first key must be an administrator key ("admin"), because otherwise nobody could create another one.',
          );
        }
        const created = await store(fields);
        // Open mode ends with the first key, so its sessions are closed.
        if (isFirst) await options.closeSessionsOf(openCallerId);
        return created;
      }),

    change: (id, toFields) =>
      inTurn(async () => {
        const { record, others } = await requireKey(id);
        const { hash, secretMark, createdAt } = record;
        const changed: KeyRecord = { ...toFields(record), id, hash, createdAt, ...(secretMark !== undefined && { secretMark }) };
        requireUserRole(changed);
        if (isAdministrator(record)) requireAdministratorAmong([...others, changed], 'demoted or expired');
        await write(() => registry.changeKey(changed));
        if (!haveRightsChanged(record, changed)) return changed;
        options.cancelRunsOf(id);
        await options.closeSessionsOf(id);
        return changed;
      }),

    async delete(id) {
      await inTurn(async () => {
        const { record, others } = await requireKey(id);
        if (isAdministrator(record) && others.length > 0) requireAdministratorAmong(others, 'deleted');
        await write(() => registry.deleteKey(id));
        if (others.length === 0) options.onLastDeleted?.();
      });
      // Runs may take a while to end, for which other changes need not wait.
      await options.deleteAllOf(id);
    },

    createFirst: () =>
      inTurn(async () => {
        if (hasFixedKey || (await registry.listKeys()).length > 0) return undefined;
        return (await store({ name: 'first administrator', role: 'admin' })).key;
      }),
  };
}

/** Whether anything but the name has changed. */
function haveRightsChanged(before: KeyRecord, after: KeyRecord): boolean {
  const rights = ({ role, expiresAt, models, tools, limits, totalLimits, people }: KeyRecord): string =>
    JSON.stringify([role, expiresAt, models, tools, limits, totalLimits, people]);
  return rights(before) !== rights(after);
}
