import pLimit from 'p-limit';
import { GatewayError } from '../core/errors.ts';
import type { KeyRecord, Registry } from '../core/registry.ts';
import { fixedCallerId, openCallerId } from '../core/caller.ts';
import { createKeyText, hashKey, markOf } from './derive-key-hash.ts';
import { isExpired } from './stored-keys.ts';

/** What an administrator decides about a key. */
export type KeyFields = Omit<KeyRecord, 'id' | 'hash' | 'secretMark' | 'createdAt'>;

/** The stored keys under the rules of their administration. Every function may reject with GatewayError `storage_unavailable`. */
export interface ApiKeys {
  list(): Promise<KeyRecord[]>;
  /** `key` is the key itself, this once. @throws GatewayError `invalid_request` when the first key is not an administrator's. */
  create(fields: KeyFields): Promise<{ record: KeyRecord; key: string }>;
  /** @throws GatewayError `not_found`, `read_only` for the fixed key, `conflict` when no administrator would be left. */
  change(id: string, toFields: (record: KeyRecord) => KeyFields): Promise<KeyRecord>;
  /** @throws GatewayError `not_found`, `read_only` for the fixed key, `conflict` when keys without an administrator would be left. */
  delete(id: string): Promise<void>;
  /** Creates an administrator key where nobody could use the gateway: no fixed key and none stored. Gives it, this once. */
  createFirst: () => Promise<string | undefined>;
}

export interface ApiKeysOptions {
  registry: Registry;
  pepper: string;
  /** Whether `TOOLWHARF_ADMIN_KEY` is set: it counts as an administrator's key. */
  hasFixedKey: boolean;
  /** Unguessable and unique. */
  newId: () => string;
  now: () => number;
  /** After every write, before anything else: what was read of the keys is out of date. */
  forget(): void;
  closeSessionsOf(callerId: string): Promise<void>;
  /** Chats and calls that are under way; after a deletion no other one may begin. */
  cancelRunsOf(callerId: string, cause: 'deleted' | 'changed'): void;
  /** No key is stored any more. */
  onLastDeleted?(): void;
}

export function createApiKeys(options: ApiKeysOptions): ApiKeys {
  const { registry, pepper, hasFixedKey, newId, now } = options;
  /** One change after the other: two administrators who delete each other must not both succeed. */
  const inTurn = pLimit(1);

  /** Also after a write that failed: it may have happened nevertheless. */
  async function write(change: () => Promise<void>): Promise<void> {
    try {
      await change();
    } finally {
      options.forget();
    }
  }

  function requireChangeable(id: string): void {
    if (hasFixedKey && id === fixedCallerId)
      throw new GatewayError('read_only', 'This key comes from TOOLWHARF_ADMIN_KEY. Change it there and start the gateway again.');
  }

  async function requireKey(id: string): Promise<{ record: KeyRecord; others: KeyRecord[] }> {
    requireChangeable(id);
    const records = await registry.listKeys();
    const record = records.find((candidate) => candidate.id === id);
    if (record === undefined) throw new GatewayError('not_found', `There is no key "${id.slice(0, 100)}".`);
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
        const isFirst = (await registry.listKeys()).length === 0;
        if (isFirst && !hasFixedKey && fields.role !== 'admin') {
          const message = 'role: the first key must be an administrator\'s ("admin"), because nobody could create another one.';
          throw new GatewayError('invalid_request', message, { param: 'role' });
        }
        const created = await store(fields);
        // Callers of the open mode need a key from here on.
        if (isFirst) await options.closeSessionsOf(openCallerId);
        return created;
      }),

    change: (id, toFields) =>
      inTurn(async () => {
        const { record, others } = await requireKey(id);
        const { hash, secretMark, createdAt } = record;
        const changed: KeyRecord = { ...toFields(record), id, hash, createdAt, ...(secretMark !== undefined && { secretMark }) };
        if (isAdministrator(record)) requireAdministratorAmong([...others, changed], 'demoted or expired');
        await write(() => registry.changeKey(changed));
        if (!haveRightsChanged(record, changed)) return changed;
        options.cancelRunsOf(id, 'changed');
        await options.closeSessionsOf(id);
        return changed;
      }),

    delete: (id) =>
      inTurn(async () => {
        const { record, others } = await requireKey(id);
        if (isAdministrator(record) && others.length > 0) requireAdministratorAmong(others, 'deleted');
        await write(() => registry.deleteKey(id));
        options.cancelRunsOf(id, 'deleted');
        await options.closeSessionsOf(id);
        if (others.length === 0) options.onLastDeleted?.();
      }),

    createFirst: () =>
      inTurn(async () => {
        if (hasFixedKey || (await registry.listKeys()).length > 0) return undefined;
        return (await store({ name: 'first administrator', role: 'admin' })).key;
      }),
  };
}

/** A new name is no reason to disconnect anybody. */
function haveRightsChanged(before: KeyRecord, after: KeyRecord): boolean {
  const rights = ({ role, expiresAt, models, tools, limits }: KeyRecord): string =>
    JSON.stringify([role, expiresAt, models, tools, limits]);
  return rights(before) !== rights(after);
}
