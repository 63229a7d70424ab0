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

interface IssuedTokensOptions {
  store: Pick<GrantStore, 'find' | 'noteUse'>;
  callers: Pick<Authenticator, 'findById'>;
  /** What the tokens are for. */
  resource: string;
  /** Called with each caller who is a person. */
  onPerson: (caller: Caller) => void;
  /** Milliseconds since 1970. */
  now: () => number;
}

/** Tokens of the gateway's own authorization server. The caller behind one is looked up each time, so that it has the rights of their key as they are now. */
export function createIssuedTokens({ store, callers, resource, onPerson, now }: IssuedTokensOptions): ClientTokens {
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
      if ((await store.find('grant', access.grantId, now())) === undefined) return undefined;
      const caller = await callers.findById(access.ownerId, request);
      if (caller === undefined || caller.isOpen) return undefined;
      noteUse(access.grantId);
      if (caller.person !== undefined) onPerson(caller);
      return asClient(caller, access, access.grantId);
    },
  };
}

function asClient(caller: Caller, { expires, clientId }: GrantRecord, grantId: string): Caller {
  return { ...caller, role: 'user', expiresAt: Math.min(caller.expiresAt ?? Infinity, expires), client: { id: clientId, grantId } };
}

/** Whether a grant and its caller are still there. `request`: any, as its caller is known. */
export async function isGrantAlive(
  { store, callers, now }: Pick<IssuedTokensOptions, 'store' | 'callers' | 'now'>,
  { caller, request }: { caller: Caller; request: Credentials },
): Promise<boolean> {
  const { client } = caller;
  if (client === undefined) return true;
  if ((await store.find('grant', client.grantId, now())) === undefined) return false;
  return (await callers.findById(caller.id, request)) !== undefined;
}
