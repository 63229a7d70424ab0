import pLimit from 'p-limit';
import { GatewayError, invalidField, unknownId } from '../core/errors.ts';
import type { KeyRecord, Registry } from '../core/stores/registry.ts';
import { fixedCallerId, openCallerId } from '../core/callers/caller.ts';
import { withoutUndefined } from '../shared/json/without-undefined.ts';
import { beginningOf, createKeyText, hashKey, markOf } from './derive-key-hash.ts';
import { isExpired } from './stored-keys.ts';

/** The fields of a key that an administrator sets. */
export type KeyFields = Omit<KeyRecord, 'id' | 'hash' | 'secretMark' | 'beginning' | 'createdAt'>;

/** Administration of the stored keys. Every function may reject with GatewayError `storage_unavailable`. */
export interface ApiKeys {
  list(): Promise<readonly KeyRecord[]>;
  /** `key` is the key itself, which cannot be read again. @throws GatewayError `invalid_request` when the first key is not an administrator's. */
  create(fields: KeyFields): Promise<{ record: KeyRecord; key: string }>;
  /** @throws GatewayError `not_found`, `read_only` for the fixed key, `conflict` when no administrator would be left. */
  change(id: string, toFields: (record: KeyRecord) => KeyFields): Promise<KeyRecord>;
  /** @throws GatewayError `not_found`, `read_only` for the fixed key, `conflict` when keys without an administrator would be left. */
  delete(id: string): Promise<void>;
  /** Creates an administrator key and returns it; it cannot be read again. Undefined if there is a key already, stored or `TOOLWHARF_ADMIN_KEY`. */
  createFirst(): Promise<string | undefined>;
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
  return new RegisteredKeys(options);
}

class RegisteredKeys implements ApiKeys {
  readonly #options: ApiKeysOptions;
  /** Serializes changes, so that two administrators who delete each other's keys cannot both succeed. */
  readonly #inTurn = pLimit(1);

  constructor(options: ApiKeysOptions) {
    this.#options = options;
  }

  list(): Promise<readonly KeyRecord[]> {
    return this.#options.registry.listKeys();
  }

  create(fields: KeyFields): Promise<{ record: KeyRecord; key: string }> {
    return this.#inTurn(async () => {
      requireUserRole(fields);
      const isFirst = (await this.#options.registry.countKeys()) === 0;
      if (isFirst && !this.#options.hasFixedKey && fields.role !== 'admin') {
        throw invalidField(
          'role',
          'the first key must be an administrator key ("admin"), because otherwise nobody could create another one.',
        );
      }
      const created = await this.#store(fields);
      // Open mode ends with the first key, so its sessions are closed.
      if (isFirst) await this.#options.closeSessionsOf(openCallerId);
      return created;
    });
  }

  change(id: string, toFields: (record: KeyRecord) => KeyFields): Promise<KeyRecord> {
    return this.#inTurn(async () => {
      const record = await this.#requireKey(id);
      const { hash, secretMark, beginning, createdAt } = record;
      const changed: KeyRecord = { ...toFields(record), id, hash, createdAt, ...withoutUndefined({ secretMark, beginning }) };
      requireUserRole(changed);
      if (this.#isAdministrator(record) && !this.#isAdministrator(changed)) await this.#requireOtherAdministrator(id, 'demoted or expired');
      await this.#write(() => this.#options.registry.changeKey(changed));
      if (!haveRightsChanged(record, changed)) return changed;
      this.#options.cancelRunsOf(id);
      await this.#options.closeSessionsOf(id);
      return changed;
    });
  }

  async delete(id: string): Promise<void> {
    await this.#inTurn(async () => {
      const record = await this.#requireKey(id);
      const isLast = (await this.#options.registry.countKeys()) === 1;
      if (this.#isAdministrator(record) && !isLast) await this.#requireOtherAdministrator(id, 'deleted');
      await this.#write(() => this.#options.registry.deleteKey(id));
      if (isLast) this.#options.onLastDeleted?.();
    });
    // Runs may take a while to end, for which other changes need not wait.
    await this.#options.deleteAllOf(id);
  }

  createFirst(): Promise<string | undefined> {
    return this.#inTurn(async () => {
      if (this.#options.hasFixedKey || (await this.#options.registry.countKeys()) > 0) return undefined;
      return (await this.#store({ name: 'first administrator', role: 'admin' })).key;
    });
  }

  /** Drops the cache even after a failed write, which may have taken effect. */
  async #write(change: () => Promise<void>): Promise<void> {
    try {
      await change();
    } finally {
      this.#options.forget();
    }
  }

  async #requireKey(id: string): Promise<KeyRecord> {
    if (this.#options.hasFixedKey && id === fixedCallerId)
      throw new GatewayError('read_only', 'This key comes from TOOLWHARF_ADMIN_KEY. Change it there and restart the gateway.');
    const record = await this.#options.registry.findKey(id);
    if (record === undefined) throw unknownId('key', id, 'GET /api/keys');
    return record;
  }

  #isAdministrator(record: KeyRecord): boolean {
    return record.role === 'admin' && !isExpired(record, this.#options.now());
  }

  async #requireOtherAdministrator(id: string, what: string): Promise<void> {
    if (this.#options.hasFixedKey) return;
    const records = await this.#options.registry.listKeys();
    if (records.some((record) => record.id !== id && this.#isAdministrator(record))) return;
    throw new GatewayError(
      'conflict',
      `This is the last administrator key, so it cannot be ${what}. Create another administrator key first.`,
    );
  }

  async #store(fields: KeyFields): Promise<{ record: KeyRecord; key: string }> {
    const key = createKeyText();
    const record: KeyRecord = {
      ...fields,
      id: `key_${this.#options.newId()}`,
      hash: hashKey(key, this.#options.pepper),
      secretMark: markOf(this.#options.pepper),
      beginning: beginningOf(key),
      createdAt: this.#options.now(),
    };
    await this.#write(() => this.#options.registry.createKey(record));
    return { record, key };
  }
}

/** Whoever has the key names the person, so a person must not get an administrator's rights. */
function requireUserRole({ role, people }: KeyFields): void {
  if (people !== undefined && role === 'admin')
    throw invalidField('users', 'a key that speaks for several people must have the role "user".');
}

/** Whether anything but the name has changed. */
function haveRightsChanged(before: KeyRecord, after: KeyRecord): boolean {
  const rights = ({ role, expiresAt, models, tools, limits, totalLimits, people }: KeyRecord): string =>
    JSON.stringify([role, expiresAt, models, tools, limits, totalLimits, people]);
  return rights(before) !== rights(after);
}
