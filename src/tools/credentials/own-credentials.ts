import type { Caller } from '../../core/caller.ts';
import type { Credential, CredentialStore, OwnCredentials, ShownCredential } from '../../core/credentials.ts';
import { GatewayError } from '../../core/errors.ts';
import type { ToolServerRecord } from '../../core/registry.ts';
import { originOf } from '../../shared/document-url.ts';
import type { MaybePromise } from '../../shared/maybe-promise.ts';
import { withoutUndefined } from '../../shared/without-undefined.ts';

export interface OwnCredentialsOptions {
  store: CredentialStore;
  /** The registered servers that a caller may use. */
  serversOf: (caller: Caller) => Promise<readonly ToolServerRecord[]>;
  allServers: () => MaybePromise<readonly ToolServerRecord[]>;
  /** Milliseconds since 1970. */
  now: () => number;
  /** The caller's credential for a server is gone, or another one. */
  onChanged: (callerId: string, server: string) => void;
}

/**
 * A connection as this caller uses it: where each person has a credential of their own, with the caller's as its `key`; any other as it is. Undefined if
 * the caller has none, or only one that has expired.
 */
export type OwnRecord = (record: ToolServerRecord, caller: Caller) => Promise<ToolServerRecord | undefined>;

export function createOwnCredentials(options: OwnCredentialsOptions): OwnCredentials & { ownRecord: OwnRecord } {
  const { store, serversOf, allServers, now, onChanged } = options;

  /** By caller and server; as many as there are sockets and requests that wait. */
  const watchers = new Map<string, Set<() => void>>();

  /** Undefined for one that was given for another origin or `auth_type`. */
  function usable(record: ToolServerRecord, credential: Credential | undefined): Credential | undefined {
    const { origin, authType } = credential?.binding ?? {};
    return origin === originOf(record.url) && authType === record.authType ? credential : undefined;
  }

  function stateIn(credential: Credential | undefined): ShownCredential['state'] {
    if (credential === undefined) return 'missing';
    if (credential.kind === 'key') return 'connected';
    const { ended, expires, refreshToken } = credential;
    if (ended !== undefined) return ended;
    return expires !== undefined && expires <= now() && refreshToken === undefined ? 'expired' : 'connected';
  }

  function toShown(record: ToolServerRecord, stored: Credential | undefined): ShownCredential {
    const { id, name = id } = record;
    const credential = usable(record, stored);
    const shown = { server: id, name, kind: credential?.kind ?? kindFor(record), state: stateIn(credential) };
    if (credential?.kind !== 'oauth' || shown.state === 'missing') return shown;
    const { scopes, expires } = credential;
    return { ...shown, ...withoutUndefined({ scopes, expires }) };
  }

  async function personalServersOf(caller: Caller): Promise<ToolServerRecord[]> {
    return (await serversOf(caller)).filter(({ isPerUser, isEnabled }) => isPerUser === true && isEnabled);
  }

  /** @throws GatewayError `not_found` */
  async function serverOf(caller: Caller, server: string): Promise<ToolServerRecord> {
    const record = (await personalServersOf(caller)).find(({ id }) => id === server);
    if (record !== undefined) return record;
    throw new GatewayError(
      'not_found',
      `There is no tool server "${server.slice(0, 100)}" that asks each person for a credential. GET /api/credentials lists those.`,
    );
  }

  async function keepFor(caller: Caller, record: ToolServerRecord, credential: Credential): Promise<ShownCredential> {
    await store.keep(caller.id, record.id, credential);
    onChanged(caller.id, record.id);
    for (const onConnected of watchers.get(JSON.stringify([caller.id, record.id])) ?? []) onConnected();
    return toShown(record, credential);
  }

  /** False if there was none. */
  async function forgetFor(callerId: string, server: string): Promise<boolean> {
    if ((await store.forget(callerId, server)) === undefined) return false;
    onChanged(callerId, server);
    return true;
  }

  return {
    serverOf,

    async ownRecord(record, caller) {
      if (record.isPerUser !== true) return record;
      const stored = await store.find(caller.id, record.id);
      const credential = usable(record, stored?.credential);
      if (credential === undefined || stateIn(credential) !== 'connected') return undefined;
      return { ...record, key: credential.kind === 'key' ? credential.secret : credential.accessToken };
    },

    async list(caller) {
      const servers = await personalServersOf(caller);
      if (servers.length === 0) return [];
      const stored = await store.listOf(caller.id);
      return servers.map((record) => toShown(record, stored.get(record.id)));
    },

    async keep(caller, server, key) {
      const record = await serverOf(caller, server);
      const { url, authType } = record;
      if (authType === 'basic' && !key.includes(':'))
        throw new GatewayError('invalid_request', `key: must be user:password for the tool server "${record.id}".`, { param: 'key' });
      const credential: Credential = { kind: 'key', secret: key, binding: { origin: originOf(url) ?? '', authType } };
      return keepFor(caller, record, credential);
    },

    async keepSignIn(caller, server, credential) {
      return keepFor(caller, await serverOf(caller, server), credential);
    },

    async forget(caller, server) {
      if (!(await forgetFor(caller.id, server)))
        throw new GatewayError('not_found', `You have no credential for a tool server "${server.slice(0, 100)}".`);
    },

    async listStored(callerId) {
      const records = new Map((await allServers()).map((record) => [record.id, record]));
      return Array.from(await store.listOf(callerId), ([server, credential]): ShownCredential => {
        const record = records.get(server);
        return record === undefined ? { server, name: server, kind: credential.kind, state: 'missing' } : toShown(record, credential);
      });
    },

    async forgetStored(callerId, server) {
      if (!(await forgetFor(callerId, server)))
        throw new GatewayError('not_found', `There is no credential of theirs for a tool server "${server.slice(0, 100)}".`);
    },

    async stateOf(caller, server) {
      const record = (await personalServersOf(caller)).find(({ id }) => id === server);
      return record && stateIn(usable(record, (await store.find(caller.id, server))?.credential));
    },

    watch(callerId, server, onConnected) {
      const key = JSON.stringify([callerId, server]);
      const watching = watchers.get(key) ?? new Set();
      watchers.set(key, watching.add(onConnected));
      return () => {
        watching.delete(onConnected);
        if (watching.size === 0 && watchers.get(key) === watching) watchers.delete(key);
      };
    },
  };
}

/** What a server asks each person for. */
function kindFor({ authType }: Pick<ToolServerRecord, 'authType'>): Credential['kind'] {
  return authType === 'oauth' ? 'oauth' : 'key';
}

/** What a caller without a credential for this server is told. */
export function howToConnect({ id }: Pick<ToolServerRecord, 'id'>): string {
  return `The tool server "${id}" needs a credential of your own, and you have given none. Connect with PUT /api/credentials/${id} {"key": "…"}, and ask again.`;
}

/** Why a server is left out for whoever has no credential; the end of a sentence. */
export function listsToPeopleAlone({ id }: Pick<ToolServerRecord, 'id'>): string {
  return `it shows its functions only to people who have given a credential of their own (PUT /api/credentials/${id} {"key": "…"})`;
}
