import { timingSafeEqual } from 'node:crypto';
import type { Caller } from '../../core/callers/caller.ts';
import type { FurtherScopes, OwnCredentials } from '../../core/sign-in/credentials.ts';
import { GatewayError } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import type { ToolServerRecord } from '../../core/stores/registry.ts';
import type { OpenSignIn, SignIns, SignInServer } from '../../core/sign-in/sign-in.ts';
import type { SignInStore } from '../../core/stores/sign-in-store.ts';
import type { JsonObject } from '../../shared/json/json.ts';
import { digestOf, newSecret, stateCookieName, stateIn } from '../../shared/secrets/browser-secrets.ts';
import { unionOf } from '../definitions/scopes.ts';
import { createDiscoveredSignIns } from './discovered-sign-ins.ts';
import type { OAuthClient, PendingAuthorization } from './oauth/oauth-client.ts';
import { redirectUriOf } from './oauth/client-addresses.ts';

/** Links over all callers; the key with the most loses its oldest. */
export const signInsLimit = 10_000;

/** How long a link to connect is good: a day, as one to decide. */
const signInLinkMs = 24 * 60 * 60 * 1000;
/** Links of one caller. Each chat that waits has one; beyond it the oldest ends. */
const signInsPerCaller = 50;
/** Size of all of them, encrypted: far more than a verifier and a few addresses each take. */
const signInsCharacters = 32 * 1024 * 1024;

interface SignInsOptions {
  store: SignInStore;
  credentials: Pick<OwnCredentials, 'save' | 'saveSignIn' | 'serverOf' | 'furtherScopes'>;
  oauth: Pick<OAuthClient, 'discover' | 'beginAt' | 'complete' | 'revoke'>;
  /** Milliseconds since 1970. */
  now: () => number;
}

export function createSignIns({ store, credentials, oauth, now }: SignInsOptions): SignIns {
  const discovered = createDiscoveredSignIns(oauth, now);
  const bounds = { maxOfCaller: signInsPerCaller, max: signInsLimit, maxCharacters: signInsCharacters };

  return {
    async makeLink(caller, server, address) {
      const record = await credentials.serverOf(caller, server);
      if (address === undefined) throw addressNeeded();
      const link = newSecret();
      const time = now();
      const expires = time + signInLinkMs;
      const { name, email } = caller.person ?? {};
      const person = { ...(name !== undefined && { name }), ...(email !== undefined && { email }) };
      await store.add({ id: digestOf(link), callerId: caller.id, server: record.id, person, expires }, { ...bounds, time });
      return { url: `${address}/connect/${link}`, expires };
    },

    async find(link) {
      const signIn = await store.find(digestOf(link), now());
      if (signIn === undefined) throw unknownLink();
      if (signIn.isUsed) throw usedLink();
      return { ...signIn, link };
    },

    async serverOf(caller, server) {
      return toServer(await credentials.serverOf(caller, server));
    },

    async enterKey({ id, server }: OpenSignIn, caller: Caller, key: string) {
      // Before the link is used up.
      await credentials.serverOf(caller, server);
      if (!(await store.use(id, now()))) throw usedLink();
      await credentials.save(caller, server, key);
    },

    async whereToSignIn(caller, server, waitMs) {
      const record = await credentials.serverOf(caller, server);
      return (await discovered.find(caller.id, record, waitMs))?.signsInAt;
    },

    furtherScopes: (caller, server) => credentials.furtherScopes(caller, server),

    async begin({ id, server }, caller, address) {
      const record = await credentials.serverOf(caller, server);
      if (address === undefined) throw addressNeeded();
      const [state, value] = [newSecret(), newSecret()];
      const { found } = await discovered.take(caller.id, record);
      const asking = withScopes(record, await credentials.furtherScopes(caller, server));
      const { authorizationUrl, pending } = await oauth.beginAt(found, asking, { address, state });
      const time = now();
      const begun = {
        state: digestOf(state),
        browser: digestOf(value),
        expires: time + limits.signInStateMs,
        pending: pending as unknown as JsonObject,
      };
      if (!(await store.use(id, time, begun))) throw usedLink();
      return { location: authorizationUrl, cookie: { name: cookieName(state, address), value } };
    },

    async finish(answer, { issuerMark, cookieOf, callerOf }) {
      const state = stateIn(answer);
      if (state === undefined) throw unknownState();
      const found = await store.findBegun(digestOf(state), now());
      if (found === undefined) throw unknownState();
      const pending = found.begun.pending as unknown as PendingAuthorization;
      // Before the state is consumed: somebody who has only seen it can neither finish nor spoil the sign-in.
      if (!isSame(digestOf(cookieOf(cookieName(state, pending.redirectUri)) ?? ''), found.begun.browser)) throw otherBrowser();
      if (!(await store.finish(found.begun.state, now()))) throw unknownState();
      if (!pending.redirectUri.endsWith(redirectUriOf('', issuerMark))) throw otherServer();
      const caller = await callerOf(found.callerId);
      if (caller === undefined)
        throw new GatewayError('not_found', 'The key that this sign-in belongs to is no longer valid. Ask for a new link in your chat.');
      const record = await credentials.serverOf(caller, found.server);
      const credential = await oauth.complete(record, pending, answer);
      try {
        // Deleting the key, the person or the server meanwhile has deleted the link and the stored tokens. The link itself may have expired.
        if ((await store.find(found.id, 0)) === undefined) throw unknownState();
        await credentials.saveSignIn(caller, found.server, credential);
      } catch (error) {
        void oauth.revoke(credential);
        throw error;
      }
      return { server: toServer(record), caller };
    },
  };
}

/** The sign-in asks for what its person has been shown: all that was asked for before, and what is demanded now. */
function withScopes(record: ToolServerRecord, further: FurtherScopes | undefined): ToolServerRecord {
  if (further === undefined) return record;
  return { ...record, oauth: { ...record.oauth, scopes: unionOf(further.held, further.wanted) } };
}

function toServer({ id, name = id, authType }: ToolServerRecord): SignInServer {
  return { id, name, asks: authType === 'basic' || authType === 'oauth' ? authType : 'key' };
}

/** `address`: of the gateway. */
function cookieName(state: string, address: string): string {
  return stateCookieName(address, 'toolwharf-sign-in', state);
}

/** Compares digests, which all have the same length. */
function isSame(one: string, other: string): boolean {
  return timingSafeEqual(Buffer.from(one), Buffer.from(other));
}

function addressNeeded(): GatewayError {
  return new GatewayError(
    'conflict',
    'The gateway does not know the address at which people reach it, so it cannot make a link. Set PUBLIC_URL to that address, such as https://chat.example.com.',
  );
}

/** The same for a link that was made up and for one that has expired, which nobody can tell apart. */
function unknownLink(): GatewayError {
  return new GatewayError(
    'not_found',
    'This link is not valid. Copy all of it from the chat. A link expires after 24 hours; ask for a new one in the chat.',
  );
}

/** The same for a `state` that was made up, used, or is too old. */
function unknownState(): GatewayError {
  return new GatewayError(
    'not_found',
    'No sign-in is waiting for this answer: it has finished, or it began more than ten minutes ago. If your chat does not show that you are connected, ask for a new link there.',
  );
}

function otherBrowser(): GatewayError {
  return new GatewayError(
    'forbidden',
    'This sign-in began in another browser, so nothing was stored. If somebody else sent you the link, close this page: it would have connected their chat to your account. Otherwise continue in the browser where you began.',
  );
}

function otherServer(): GatewayError {
  return new GatewayError(
    'forbidden',
    'The answer comes from a different authorization server than the one that was asked, so nothing was stored. Tell the administrator of this gateway.',
  );
}

function usedLink(): GatewayError {
  return new GatewayError(
    'conflict',
    'This link has already been used, and it works only once. If you used it, go back to your chat or ask for a new one there. If you did not, tell the administrator of this gateway.',
  );
}
