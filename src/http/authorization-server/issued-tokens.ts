import { LRUCache } from 'lru-cache';
import type { Caller } from '../../core/callers/caller.ts';
import type { GrantRecord, GrantStore } from '../../core/stores/grant-store.ts';
import { digestOf } from '../../shared/secrets/browser-secrets.ts';
import type { Authenticator, Credentials } from '../auth/authenticate.ts';
import type { ClientTokens } from '../auth/client-tokens.ts';

/** The last use of a grant is stored this often. */
const noteEveryMs = 60_000;
/** Grants whose last note is remembered; for others it is written once more. */
const notedGrants = 10_000;

interface GrantsOptions {
  store: Pick<GrantStore, 'find'>;
  callers: Pick<Authenticator, 'findById'>;
  /** Of the key with which somebody agrees, if its caller may come to have another one. */
  keyMark: (callerId: string) => string | undefined;
  /** Milliseconds since 1970. */
  now: () => number;
}

/** The caller of a grant, as they are now; undefined if the grant, its caller or its key has ended. */
export type CallerOfGrant = (grant: { grantId: string; callerId: string }, request: Credentials) => Promise<Caller | undefined>;

export function createCallerOfGrant({ store, callers, keyMark, now }: GrantsOptions): CallerOfGrant {
  return async ({ grantId, callerId }, request) => {
    const authorization = await store.find('authorization', grantId, now());
    if (authorization?.ownerId !== callerId || (authorization.value['key'] ?? undefined) !== keyMark(callerId)) return undefined;
    const caller = await callers.findById(callerId, request);
    return caller?.isOpen === true ? undefined : caller;
  };
}

interface IssuedTokensOptions {
  store: Pick<GrantStore, 'find' | 'noteUse'>;
  callerOf: CallerOfGrant;
  /** What the tokens are for. */
  resource: string;
  /** Called with each caller who is a person. */
  onPerson: (caller: Caller) => void;
  /** Milliseconds since 1970. */
  now: () => number;
}

/** Tokens of the gateway's own authorization server. The caller behind one is looked up each time, so that it has the rights of their key as they are now. */
export function createIssuedTokens({ store, callerOf, resource, onPerson, now }: IssuedTokensOptions): ClientTokens {
  const noted = new LRUCache<string, number>({ max: notedGrants });

  function noteUse(grantId: string): void {
    const time = now();
    if (time - (noted.get(grantId) ?? -Infinity) < noteEveryMs) return;
    noted.set(grantId, time);
    // It is only shown, so no request waits for it or fails with it.
    store.noteUse(grantId, time).catch(() => noted.delete(grantId));
  }

  return {
    async find(token, request) {
      const access = await store.find('access', digestOf(token), now());
      if (access?.grantId === undefined || access.value['aud'] !== resource) return undefined;
      const caller = await callerOf({ grantId: access.grantId, callerId: access.ownerId }, request);
      if (caller === undefined) return undefined;
      noteUse(access.grantId);
      if (caller.person !== undefined) onPerson(caller);
      return asClient(caller, access, access.grantId);
    },
  };
}

function asClient(caller: Caller, { expires, clientId }: GrantRecord, grantId: string): Caller {
  return {
    ...caller,
    role: 'user',
    expiresAt: Math.min(caller.expiresAt ?? Infinity, expires),
    tokenExpiresAt: expires,
    client: { id: clientId, grantId },
  };
}
