import type { Caller } from '../../core/caller.ts';
import type { Credential, CredentialStore, OwnCredentials, ShownCredential } from '../../core/credentials.ts';
import { GatewayError } from '../../core/errors.ts';
import type { ToolServerRecord } from '../../core/registry.ts';
import { originOf } from '../../shared/document-url.ts';
import { withoutUndefined } from '../../shared/without-undefined.ts';

export interface OwnCredentialsOptions {
  store: CredentialStore;
  /** The registered servers that a caller may use. */
  serversOf: (caller: Caller) => Promise<readonly ToolServerRecord[]>;
  /** Milliseconds since 1970. */
  now: () => number;
  /** The caller's credential for a server is gone, or another one. */
  onChanged: (caller: Caller, server: string) => void;
}

/**
 * A connection as this caller uses it: where each person has a credential of their own, with the caller's as its `key`; any other as it is. Undefined if
 * the caller has none, or only one that has expired.
 */
export type OwnRecord = (record: ToolServerRecord, caller: Caller) => Promise<ToolServerRecord | undefined>;

export function createOwnCredentials(options: OwnCredentialsOptions): OwnCredentials & { ownRecord: OwnRecord } {
  const { store, serversOf, now, onChanged } = options;

  /** Undefined for one that was given for another origin or `auth_type`. */
  function usable(record: ToolServerRecord, credential: Credential | undefined): Credential | undefined {
    const { origin, authType } = credential?.binding ?? {};
    return origin === originOf(record.url) && authType === record.authType ? credential : undefined;
  }

  const isExpired = ({ expires }: Credential): boolean => expires !== undefined && expires <= now();

  function toShown(record: ToolServerRecord, stored: Credential | undefined): ShownCredential {
    const { id, name = id } = record;
    const credential = usable(record, stored);
    if (credential === undefined) return { server: id, name, kind: 'key', state: 'missing' };
    const { kind, scopes, expires } = credential;
    return { server: id, name, kind, state: isExpired(credential) ? 'expired' : 'connected', ...withoutUndefined({ scopes, expires }) };
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

  return {
    serverOf,

    async ownRecord(record, caller) {
      if (record.isPerUser !== true) return record;
      const credential = usable(record, await store.find(caller.id, record.id));
      return credential === undefined || isExpired(credential) ? undefined : { ...record, key: credential.secret };
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
      await store.keep(caller.id, record.id, credential);
      onChanged(caller, record.id);
      return toShown(record, credential);
    },

    async forget(caller, server) {
      if (!(await store.forget(caller.id, server)))
        throw new GatewayError('not_found', `You have no credential for a tool server "${server.slice(0, 100)}".`);
      onChanged(caller, server);
    },
  };
}

/** What a caller without a credential for this server is told. */
export function howToConnect({ id }: Pick<ToolServerRecord, 'id'>): string {
  return `The tool server "${id}" needs a credential of your own, and you have given none. Connect with PUT /api/credentials/${id} {"key": "…"}, and ask again.`;
}

/** Why a server is left out for whoever has no credential; the end of a sentence. */
export function listsToPeopleAlone({ id }: Pick<ToolServerRecord, 'id'>): string {
  return `it shows its functions only to people who have given a credential of their own (PUT /api/credentials/${id} {"key": "…"})`;
}
