import { errors, type Adapter, type AdapterPayload } from 'oidc-provider';
import { unusedClientMs, type GrantRecord, type GrantRecordKind, type GrantStore } from '../../core/stores/grant-store.ts';
import { digestOf } from '../../shared/secrets/browser-secrets.ts';
import type { JsonObject } from '../../shared/json/json.ts';
import { grantBounds } from './grant-bounds.ts';
import { requestMs, usedTokenMs } from './lifetimes.ts';

const kinds: Readonly<Record<string, GrantRecordKind>> = {
  Client: 'client',
  Interaction: 'request',
  Grant: 'grant',
  AuthorizationCode: 'code',
  AccessToken: 'access',
  RefreshToken: 'refresh',
};

interface GrantAdapterOptions {
  store: GrantStore;
  /** Where the present request comes from. */
  addressOf: () => string;
  /** Called when a grant has ended; `grantId` is its hash. */
  onEnded: (grantId: string) => void;
  /** Milliseconds since 1970. */
  now: () => number;
}

/** The library's storage. It stores codes and tokens by their hashes, and no sessions: people are asked each time. */
export function createGrantAdapter(options: GrantAdapterOptions): (model: string) => Adapter {
  return (model) => {
    const kind = kinds[model];
    return kind === undefined ? new NoStorage() : new GrantAdapter(kind, options);
  };
}

class GrantAdapter implements Adapter {
  readonly #kind: GrantRecordKind;
  readonly #options: GrantAdapterOptions;

  constructor(kind: GrantRecordKind, options: GrantAdapterOptions) {
    this.#kind = kind;
    this.#options = options;
  }

  async upsert(id: string, payload: AdapterPayload, expiresIn: number): Promise<void> {
    const { store, now } = this.#options;
    const time = now();
    const record = this.#toRecord(id, payload);
    const expires = time + (this.#kind === 'client' ? unusedClientMs : this.#kind === 'request' ? requestMs : expiresIn * 1_000);
    const isStored = await store.save({ ...record, expires }, { time, ...grantBounds[this.#kind] });
    if (!isStored) throw new errors.TemporarilyUnavailable('too many programs are registered with this gateway');
    if (this.#kind === 'grant') await store.keepClient(record.clientId, expires + unusedClientMs);
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    const found = await this.#options.store.find(this.#kind, digestOf(id), this.#options.now());
    if (found === undefined) return undefined;
    const payload = found.value as AdapterPayload;
    if (this.#kind === 'client') return payload;
    return { ...payload, jti: id, ...(found.used !== undefined && { consumed: Math.floor(found.used / 1_000) }) };
  }

  /** A code or refresh token that is used twice ends its grant, also if both uses come at once. */
  async consume(id: string): Promise<void> {
    const { store, now, onEnded } = this.#options;
    const time = now();
    if (await store.use(this.#kind, digestOf(id), { time, keepUntil: time + usedTokenMs })) return;
    const found = await store.find(this.#kind, digestOf(id), time);
    if (found?.grantId !== undefined) {
      await store.deleteGrant(found.grantId);
      onEnded(found.grantId);
    }
    throw new errors.InvalidGrant('it was used before');
  }

  async destroy(id: string): Promise<void> {
    if (this.#kind === 'grant') return this.revokeByGrantId(id);
    return this.#options.store.delete(this.#kind, digestOf(id));
  }

  async revokeByGrantId(grantId: string): Promise<void> {
    await this.#options.store.deleteGrant(digestOf(grantId));
    this.#options.onEnded(digestOf(grantId));
  }

  async findByUid(): Promise<undefined> {
    return undefined;
  }

  async findByUserCode(): Promise<undefined> {
    return undefined;
  }

  #toRecord(id: string, sent: AdapterPayload): Omit<GrantRecord, 'expires'> {
    // Without the id, which is the secret.
    const payload = { ...sent };
    delete payload.jti;
    const kind = this.#kind;
    const named = kind === 'client' ? id : (payload.clientId ?? payload.params?.['client_id']);
    const clientId = digestOf(typeof named === 'string' ? named : '');
    const { grantId } = payload;
    return {
      kind,
      id: digestOf(id),
      clientId,
      ownerId: kind === 'client' || kind === 'request' ? this.#options.addressOf() : (payload.accountId ?? ''),
      ...(grantId !== undefined && kind !== 'request' && { grantId: digestOf(grantId) }),
      value: payload as JsonObject,
    };
  }
}

/** For what is not kept: who is signed in at the authorization server is nobody, and the other models are of features that are off. */
class NoStorage implements Adapter {
  async upsert(): Promise<void> {}
  async find(): Promise<undefined> {
    return undefined;
  }
  async findByUid(): Promise<undefined> {
    return undefined;
  }
  async findByUserCode(): Promise<undefined> {
    return undefined;
  }
  async consume(): Promise<void> {}
  async destroy(): Promise<void> {}
  async revokeByGrantId(): Promise<void> {}
}
