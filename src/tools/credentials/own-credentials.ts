import type { Audit } from '../../core/audit.ts';
import type { Caller } from '../../core/callers/caller.ts';
import type {
  Credential,
  CredentialStore,
  FurtherScopes,
  OAuthCredential,
  OwnCredentials,
  ShownCredential,
} from '../../core/sign-in/credentials.ts';
import { GatewayError, invalidField } from '../../core/errors.ts';
import type { ToolServerRecord } from '../../core/stores/registry.ts';
import { originOf } from '../../shared/text/document-url.ts';
import type { MaybePromise } from '../../shared/async/maybe-promise.ts';
import { withoutUndefined } from '../../shared/json/without-undefined.ts';
import type { OAuthClient } from './oauth/oauth-client.ts';
import { namesClient } from './oauth/register-client.ts';
import { createTokenRefresher, type TokenRefresher } from './refresh-tokens.ts';
import type { OwnRecord, OwnToolServer, Refusal, WantScopes } from '../definitions/own-use.ts';
import { unionOf } from '../definitions/scopes.ts';
import { createSharedTokens } from './shared-tokens.ts';

interface OwnCredentialsOptions {
  store: CredentialStore;
  oauth: OAuthClient;
  /** The registered servers that a caller may use. */
  serversOf: (caller: Caller) => Promise<readonly ToolServerRecord[]>;
  allServers: () => MaybePromise<readonly ToolServerRecord[]>;
  audit?: Audit | undefined;
  /** Milliseconds since 1970. */
  now: () => number;
  /** The caller's credential for a server is gone, or another one. */
  onChanged: (callerId: string, server: string) => void;
}

/** Whether calls carry a credential that the connection itself does not have. */
export function asksForCredential({ isPerUser, authType }: Pick<ToolServerRecord, 'isPerUser' | 'authType'>): boolean {
  return isPerUser === true || authType === 'oauth';
}

export interface CredentialUse {
  /** As `OwnRecord`. */
  ownRecord(...parameters: Parameters<OwnRecord>): ReturnType<OwnRecord>;
  /** As `WantScopes`. */
  wantScopes(...parameters: Parameters<WantScopes>): ReturnType<WantScopes>;
  /** Whether the caller has a credential that the server rejects. */
  isRefused(record: ToolServerRecord, caller: Pick<Caller, 'id'>): Promise<boolean>;
}

export function createOwnCredentials(options: OwnCredentialsOptions): OwnCredentials & CredentialUse {
  return new StoredCredentials(options);
}

class StoredCredentials implements OwnCredentials, CredentialUse {
  readonly #options: OwnCredentialsOptions;
  readonly #sharedTokens: ReturnType<typeof createSharedTokens>;
  readonly #refresher: TokenRefresher;
  /** By caller and server; as many as there are sockets and requests that wait. */
  readonly #watchers = new Map<string, Set<() => void>>();

  constructor(options: OwnCredentialsOptions) {
    this.#options = options;
    const { store, oauth, now } = options;
    this.#sharedTokens = createSharedTokens(oauth, now);
    this.#refresher = createTokenRefresher({ store, oauth, now, usable: (record, stored) => oauthOf(usable(record, stored?.credential)) });
  }

  async ownRecord(record: ToolServerRecord, caller: Pick<Caller, 'id'>, refusal?: Refusal): Promise<OwnToolServer | undefined> {
    if (!asksForCredential(record)) return record;
    if (record.isPerUser !== true) return { ...record, key: await this.#sharedTokens.tokenFor(record, refusal), signInId: 'shared' };
    if (record.authType === 'oauth') {
      const credential = await this.#refresher.fresh(caller.id, record, refusal);
      return credential && { ...record, key: credential.accessToken, signInId: credential.signInId };
    }
    const stored = await this.#options.store.find(caller.id, record.id);
    const credential = usable(record, stored?.credential);
    if (stored === undefined || credential?.kind !== 'key' || credential.ended !== undefined) return undefined;
    if (credential.secret !== refusal?.key) return { ...record, key: credential.secret };
    await this.#options.store.replace(caller.id, record.id, { revision: stored.revision, credential: { ...credential, ended: 'missing' } });
    return undefined;
  }

  async wantScopes(record: ToolServerRecord, caller: Pick<Caller, 'id'>, scopes: readonly string[]): Promise<boolean> {
    return asksForFurtherScopes(record) && this.#refresher.wantScopes(caller.id, record, scopes);
  }

  async isRefused(record: ToolServerRecord, caller: Pick<Caller, 'id'>): Promise<boolean> {
    return usable(record, (await this.#options.store.find(caller.id, record.id))?.credential)?.ended === 'missing';
  }

  async list(caller: Caller): Promise<ShownCredential[]> {
    const servers = await this.#personalServersOf(caller);
    if (servers.length === 0) return [];
    const stored = await this.#options.store.listOf(caller.id);
    return servers.map((record) => this.#toShown(record, stored.get(record.id)));
  }

  async save(caller: Caller, server: string, key: string): Promise<ShownCredential> {
    const record = await this.serverOf(caller, server);
    const { url, authType } = record;
    if (authType === 'oauth')
      throw new GatewayError(
        'invalid_request',
        `The tool server "${record.id}" takes no key, because people sign in there. POST /api/credentials/${record.id}/connect gives the link.`,
      );
    if (authType === 'basic' && !key.includes(':')) throw invalidField('key', `must be user:password for the tool server "${record.id}".`);
    const credential: Credential = { kind: 'key', secret: key, binding: { origin: originOf(url) ?? '', authType } };
    return this.#saveFor(caller, record, credential);
  }

  async saveSignIn(caller: Caller, server: string, credential: OAuthCredential): Promise<ShownCredential> {
    return this.#saveFor(caller, await this.serverOf(caller, server), credential);
  }

  async delete(caller: Caller, server: string): Promise<void> {
    if (!(await this.#deleteFor(caller.id, server)))
      throw new GatewayError(
        'not_found',
        `You have no credential for a tool server "${server.slice(0, 100)}". GET /api/credentials lists yours.`,
      );
    await this.#options.audit?.record({ callerId: caller.id, action: 'credential.forget', subject: server });
  }

  async listStored(callerId: string): Promise<ShownCredential[]> {
    const records = new Map((await this.#options.allServers()).map((record) => [record.id, record]));
    return Array.from(await this.#options.store.listOf(callerId), ([server, credential]): ShownCredential => {
      const record = records.get(server);
      return record === undefined ? { server, name: server, kind: credential.kind, state: 'missing' } : this.#toShown(record, credential);
    });
  }

  async deleteStored(callerId: string, server: string): Promise<void> {
    if (!(await this.#deleteFor(callerId, server)))
      throw new GatewayError('not_found', `This caller has no credential for a tool server "${server.slice(0, 100)}".`);
  }

  async stateOf(caller: Caller, server: string): Promise<ShownCredential['state'] | undefined> {
    const record = (await this.#personalServersOf(caller)).find(({ id }) => id === server);
    if (record === undefined) return undefined;
    const credential = usable(record, (await this.#options.store.find(caller.id, server))?.credential);
    return furtherScopesIn(record, credential) === undefined ? this.#stateIn(credential) : 'missing';
  }

  async furtherScopes(caller: Caller, server: string): Promise<FurtherScopes | undefined> {
    const record = await this.serverOf(caller, server);
    return furtherScopesIn(record, usable(record, (await this.#options.store.find(caller.id, server))?.credential));
  }

  watch(callerId: string, server: string, onConnected: () => void): () => void {
    const key = JSON.stringify([callerId, server]);
    const watching = this.#watchers.get(key) ?? new Set();
    this.#watchers.set(key, watching.add(onConnected));
    return () => {
      watching.delete(onConnected);
      if (watching.size === 0 && this.#watchers.get(key) === watching) this.#watchers.delete(key);
    };
  }

  #stateIn(credential: Credential | undefined): ShownCredential['state'] {
    if (credential === undefined) return 'missing';
    if (credential.kind === 'key') return credential.ended ?? 'connected';
    const { ended, expires, refreshToken } = credential;
    if (ended !== undefined) return ended;
    return expires !== undefined && expires <= this.#options.now() && refreshToken === undefined ? 'expired' : 'connected';
  }

  #toShown(record: ToolServerRecord, stored: Credential | undefined): ShownCredential {
    const { id, name = id } = record;
    const credential = usable(record, stored);
    const shown = { server: id, name, kind: credential?.kind ?? kindFor(record), state: this.#stateIn(credential) };
    if (credential?.kind !== 'oauth' || shown.state === 'missing') return shown;
    const { scopes, expires } = credential;
    return { ...shown, ...withoutUndefined({ scopes, expires }) };
  }

  async #personalServersOf(caller: Caller): Promise<ToolServerRecord[]> {
    return (await this.#options.serversOf(caller)).filter(({ isPerUser, isEnabled }) => isPerUser === true && isEnabled);
  }

  /** @throws GatewayError `not_found` */
  async serverOf(caller: Caller, server: string): Promise<ToolServerRecord> {
    const record = (await this.#personalServersOf(caller)).find(({ id }) => id === server);
    if (record !== undefined) return record;
    throw new GatewayError(
      'not_found',
      `There is no tool server "${server.slice(0, 100)}" that asks each person for a credential. GET /api/credentials lists those.`,
    );
  }

  async #saveFor(caller: Caller, record: ToolServerRecord, credential: Credential): Promise<ShownCredential> {
    await this.#options.store.save(caller.id, record.id, credential);
    const { kind } = credential;
    await this.#options.audit?.record({ callerId: caller.id, action: 'credential.connect', subject: record.id, detail: { kind } });
    this.#options.onChanged(caller.id, record.id);
    for (const onConnected of this.#watchers.get(JSON.stringify([caller.id, record.id])) ?? []) onConnected();
    return this.#toShown(record, credential);
  }

  /** False if there was none. */
  async #deleteFor(callerId: string, server: string): Promise<boolean> {
    if ((await this.#options.store.delete(callerId, server)) === undefined) return false;
    this.#options.onChanged(callerId, server);
    return true;
  }
}

/** Undefined for one that was given for another origin, `auth_type`, authorization server or client. */
function usable(record: ToolServerRecord, credential: Credential | undefined): Credential | undefined {
  const { origin, authType } = credential?.binding ?? {};
  if (origin !== originOf(record.url) || authType !== record.authType) return undefined;
  return credential?.kind === 'oauth' && !namesClient(record, credential) ? undefined : credential;
}

function oauthOf(credential: Credential | undefined): OAuthCredential | undefined {
  return credential?.kind === 'oauth' ? credential : undefined;
}

/** A list of the operator is also the limit. */
function asksForFurtherScopes({ isPerUser, authType, oauth }: ToolServerRecord): boolean {
  return isPerUser === true && authType === 'oauth' && oauth?.scopes === undefined;
}

function furtherScopesIn(record: ToolServerRecord, credential: Credential | undefined): FurtherScopes | undefined {
  if (credential?.kind !== 'oauth' || credential.wantedScopes === undefined || !asksForFurtherScopes(record)) return undefined;
  const { requestedScopes, scopes, wantedScopes } = credential;
  return { held: unionOf(requestedScopes, scopes), wanted: wantedScopes };
}

/** The kind of credential that a server asks each person for. */
function kindFor({ authType }: Pick<ToolServerRecord, 'authType'>): Credential['kind'] {
  return authType === 'oauth' ? 'oauth' : 'key';
}

/** The message for a caller without a credential for this server. */
export function howToConnect(record: Pick<ToolServerRecord, 'id' | 'authType'>): string {
  return `The tool server "${record.id}" needs your own credential, and you have not entered one. Connect with ${wayToConnect(record)}, and ask again.`;
}

/** The message for a caller whose credential the server rejects. */
export function howToReplace(record: Pick<ToolServerRecord, 'id' | 'authType'>): string {
  return `The tool server "${record.id}" rejects your credential. Connect again with ${wayToConnect(record)}, and ask again.`;
}

/** The message for a caller whose sign-in does not cover a call. */
export function howToExtend(record: Pick<ToolServerRecord, 'id' | 'authType'>, scopes: readonly string[]): string {
  return `The tool server "${record.id}" needs your consent to more access for this call (${scopes.join(' ')}). The call was not executed. Connect again with ${wayToConnect(record)}, and ask again.`;
}

/** What an operator can do where another sign-in would not give more; a sentence. */
export function scopesCure({ id, isPerUser, oauth }: ToolServerRecord, scopes: readonly string[]): string {
  const names = scopes.join(' ');
  if (isPerUser === true && oauth?.scopes === undefined)
    return `The last sign-in asked for ${names} already. Check what the authorization server grants there.`;
  return `Add ${names} to scopes in oauth of the tool server "${id}".`;
}

/** Why a server is left out for callers without a credential; the end of a sentence. */
export function listsToPeopleAlone(record: Pick<ToolServerRecord, 'id' | 'authType'>): string {
  return `it lists its functions only to people who have entered their own credential (${wayToConnect(record)})`;
}

/** Why a server is left out for a caller whose credential it rejects; the end of a sentence. */
export function refusesCredential(record: Pick<ToolServerRecord, 'id' | 'authType'>): string {
  return `it rejects your credential (${wayToConnect(record)} replaces it)`;
}

function wayToConnect({ id, authType }: Pick<ToolServerRecord, 'id' | 'authType'>): string {
  return authType === 'oauth' ? `the link of POST /api/credentials/${id}/connect` : `PUT /api/credentials/${id} {"key": "…"}`;
}
