import { setTimeout as sleep } from 'node:timers/promises';
import type { CredentialStore, OAuthCredential, StoredCredential } from '../../core/sign-in/credentials.ts';
import type { ToolServerRecord } from '../../core/stores/registry.ts';
import type { Refusal } from '../definitions/own-use.ts';
import { unionOf } from '../definitions/scopes.ts';
import type { OAuthClient } from './oauth/oauth-client.ts';

/** One process has this long to refresh a token before another tries: longer than any answer takes. */
export const oauthLeaseMs = 15_000;

/** Keeps the tokens of people good: each is refreshed once for all who wait for it, in this process and in others on the same store. */
export interface TokenRefresher {
  /**
   * The credential with a token that is good for now, as far as that is known, and is not the refused one. Undefined if there is none, or none any more.
   * @throws GatewayError when the authorization server cannot be asked, which changes nothing
   */
  fresh(callerId: string, record: ToolServerRecord, refusal?: Refusal): Promise<OAuthCredential | undefined>;
  /** As `WantScopes`. */
  wantScopes(callerId: string, record: ToolServerRecord, scopes: readonly string[]): Promise<boolean>;
}

interface TokenRefresherOptions {
  store: CredentialStore;
  oauth: Pick<OAuthClient, 'refresh' | 'revoke'>;
  /** Undefined for one that was given for something else. */
  usable: (record: ToolServerRecord, stored: StoredCredential | undefined) => OAuthCredential | undefined;
  /** Milliseconds since 1970. */
  now: () => number;
}

/** How often a process looks whether another one has refreshed. */
const pollMs = 50;

export function createTokenRefresher({ store, oauth, usable, now }: TokenRefresherOptions): TokenRefresher {
  /** By caller and server. */
  const refreshing = new Map<string, Promise<OAuthCredential | undefined>>();

  const isGood = ({ accessToken, refreshFrom, expires }: OAuthCredential, refusal: Refusal | undefined): boolean =>
    accessToken !== refusal?.key && (refreshFrom ?? expires ?? Infinity) > now();

  /** Looks, refreshes where nobody else does, and looks again. */
  async function refresh(callerId: string, record: ToolServerRecord, refusal: Refusal | undefined): Promise<OAuthCredential | undefined> {
    const { id: server } = record;
    for (;;) {
      const stored = await store.find(callerId, server);
      const credential = usable(record, stored);
      if (stored === undefined || credential === undefined || credential.ended !== undefined) return undefined;
      if (isGood(credential, refusal)) return credential;
      const { revision } = stored;
      const isRefused = credential.accessToken === refusal?.key;
      if (isRefused && (refusal?.isFinal === true || credential.refreshToken === undefined)) {
        const ended: OAuthCredential = { ...demanding(credential, refusal.scopes), ended: 'missing' };
        await store.replace(callerId, server, { revision, credential: ended });
        return undefined;
      }
      const isExpired = credential.expires !== undefined && credential.expires <= now();
      if (credential.refreshToken === undefined) return isExpired ? undefined : credential;
      const lease = { revision, until: now() + oauthLeaseMs };
      if (!(await store.claim(callerId, server, { ...lease, now: now() }))) {
        await sleep(pollMs);
        continue;
      }
      let refreshed: OAuthCredential | 'refused';
      try {
        refreshed = await oauth.refresh(record, credential);
      } catch (error) {
        await store.release(callerId, server, lease);
        if (isRefused || isExpired) throw error;
        return credential;
      }
      const next: OAuthCredential = refreshed === 'refused' ? { ...credential, ended: 'expired' } : refreshed;
      const isKept = await store.replace(callerId, server, { revision, credential: next });
      if (isKept) return refreshed === 'refused' ? undefined : refreshed;
      // Deleted or replaced meanwhile: nobody will use these tokens, or revoke them later.
      if (refreshed !== 'refused') void oauth.revoke(refreshed);
    }
  }

  async function shared(callerId: string, record: ToolServerRecord, refusal: Refusal | undefined): Promise<OAuthCredential | undefined> {
    const key = JSON.stringify([callerId, record.id]);
    for (let running = refreshing.get(key); running !== undefined; running = refreshing.get(key)) {
      const found = await running;
      if (found === undefined || isGood(found, refusal)) return found;
    }
    const started = refresh(callerId, record, refusal).finally(() => refreshing.delete(key));
    refreshing.set(key, started);
    return started;
  }

  return {
    async fresh(callerId, record, refusal) {
      const credential = usable(record, await store.find(callerId, record.id));
      if (credential === undefined || credential.ended !== undefined) return undefined;
      return isGood(credential, refusal) ? credential : shared(callerId, record, refusal);
    },
    async wantScopes(callerId, record, scopes) {
      for (;;) {
        const stored = await store.find(callerId, record.id);
        const credential = usable(record, stored);
        // Whoever signs in again asks for what the server says then.
        if (stored === undefined || credential === undefined || credential.ended !== undefined) return true;
        const next = demanding(credential, scopes);
        if (next === credential) return lacks(credential, scopes).length > 0;
        const { revision } = stored;
        // Not while the token is being refreshed: the new one would be lost.
        const canReplace = await store.claim(callerId, record.id, { revision, until: now() + oauthLeaseMs, now: now() });
        if (canReplace && (await store.replace(callerId, record.id, { revision, credential: next }))) return true;
        await sleep(pollMs);
      }
    },
  };
}

/** Those of the scopes for which the sign-in has not asked. A server that demands the others again would not be content with another sign-in. */
function lacks({ requestedScopes, scopes: granted = [] }: OAuthCredential, scopes: readonly string[] = []): readonly string[] {
  const asked = new Set(requestedScopes ?? granted);
  return scopes.filter((scope) => !asked.has(scope));
}

/** The same credential if it says so already. */
function demanding(credential: OAuthCredential, scopes: readonly string[] | undefined): OAuthCredential {
  const { wantedScopes = [] } = credential;
  const wanted = unionOf(wantedScopes, lacks(credential, scopes));
  return wanted.length === wantedScopes.length ? credential : { ...credential, wantedScopes: wanted };
}
