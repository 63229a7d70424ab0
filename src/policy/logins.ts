import { LRUCache } from 'lru-cache';
import type { Caller } from '../core/callers/caller.ts';
import { GatewayError } from '../core/errors.ts';
import { limits } from '../core/limits.ts';
import type { Logins, LoginToken, LoginTokens, OpenIdClient, PendingLogin } from '../core/sign-in/login.ts';
import type { LeavingBrowser } from '../core/sign-in/sign-in.ts';
import type { NoteStore } from '../core/stores/note-store.ts';
import type { OidcCallers } from '../core/callers/oidc.ts';
import { digestOf, newSecret, stateCookieName, stateIn } from '../shared/secrets/browser-secrets.ts';
import { withoutUndefined } from '../shared/json/without-undefined.ts';

/** Signed-in browsers. Beyond that, the person with the most browsers loses the oldest login. */
export const logins = 10_000;

/** A token of the console is refreshed this long before it ends, or at half of its life: later than that its page asks for a new one. */
const loginRefreshAheadMs = 60_000;
/** Size of all of them, encrypted: three tokens of some thousand characters for each. */
const loginsCharacters = 64 * 1024 * 1024;

/** Beneath the address at which people reach the gateway. The provider leads back to it after signing in, and after signing out. */
export const loginRedirectPath = '/login/callback';

interface LoginsOptions {
  /** The name of this API at the provider. */
  audience: string;
  issuer: string;
  client: OpenIdClient;
  callers: Pick<OidcCallers, 'isToken' | 'find'>;
  store: NoteStore;
  /** Encrypts what a browser keeps while it is at the provider. `id` has to be the same for both. `decrypt`: undefined if it was not encrypted here. */
  cipher: { encrypt(text: string, id: string): string; decrypt(encrypted: string, id: string): string | undefined };
  /** Milliseconds since 1970. */
  now: () => number;
}

/** Stored in a cookie while the browser is at the provider. */
interface BegunLogin extends PendingLogin {
  returnTo: string;
  /** Milliseconds since 1970. */
  expires: number;
}

/** As it is stored. */
interface StoredLogin {
  callerId: string;
  tokens: LoginTokens;
  /** From then on the token is refreshed. Both in milliseconds since 1970. */
  refreshFrom: number;
  end: number;
}

/** Used states, in this process; the provider accepts a code only once too. */
const maxUsedStates = 10_000;

export function createLogins(options: LoginsOptions): Logins {
  return new StoredLogins(options);
}

class StoredLogins implements Logins {
  readonly #options: LoginsOptions;
  readonly #used = new LRUCache<string, true>({ max: maxUsedStates });
  /** Running refreshes by id: two tabs that ask at once would use a refresh token twice, which ends the whole sign-in at many providers. */
  readonly #refreshing = new Map<string, Promise<LoginToken | undefined>>();

  constructor(options: LoginsOptions) {
    this.#options = options;
  }

  cookieName(state: string, address: string | undefined): string {
    return stateCookieName(address, 'toolwharf-login', state);
  }

  async begin({ address, returnTo, wantsOtherAccount }: Parameters<Logins['begin']>[0]): Promise<LeavingBrowser> {
    if (address === undefined) throw addressNeeded();
    const [state, nonce] = [newSecret(), newSecret()];
    const redirectUri = `${address}${loginRedirectPath}`;
    const { authorizationUrl, verifier } = await this.#options.client.begin({ redirectUri, state, nonce, wantsOtherAccount });
    const begun: BegunLogin = { state, nonce, verifier, redirectUri, returnTo, expires: this.#options.now() + limits.signInStateMs };
    return {
      location: authorizationUrl,
      cookie: { name: this.cookieName(state, address), value: this.#options.cipher.encrypt(JSON.stringify(begun), digestOf(state)) },
    };
  }

  async finish(answer: URLSearchParams, { cookie, before }: Parameters<Logins['finish']>[1]): ReturnType<Logins['finish']> {
    const state = stateIn(answer);
    if (state === undefined || cookie === undefined) throw notBegunHere();
    const opened = this.#options.cipher.decrypt(cookie, digestOf(state));
    const begun = opened === undefined ? undefined : (JSON.parse(opened) as BegunLogin);
    if (begun === undefined || begun.expires <= this.#options.now() || this.#used.has(state)) throw notBegunHere();
    this.#used.set(state, true);
    const tokens = await this.#options.client.exchange(answer, begun);
    const caller = await this.#requireAccepted(tokens).catch(async (error: unknown) => {
      await this.#options.client.revoke(tokens);
      throw error;
    });
    const login = newSecret();
    await this.#save(digestOf(login), caller, { tokens, end: this.#options.now() + limits.loginMs });
    // Not revoked: providers end all tokens of the same person and this.#options.client with one.
    if (before !== undefined) await this.#options.store.delete(digestOf(before));
    return { login, returnTo: begun.returnTo, caller };
  }

  async tokenOf(login: string): Promise<LoginToken | undefined> {
    const id = digestOf(login);
    const kept = await this.#find(id);
    if (kept === undefined) return undefined;
    const known = await this.#stillGood(kept);
    if (known !== undefined && (this.#options.now() < kept.refreshFrom || kept.tokens.refreshToken === undefined)) return known;
    return this.#sharedRefresh(id).catch((error: unknown) => {
      if (known !== undefined) return known;
      throw error;
    });
  }

  async end(login: string, address: string | undefined): Promise<string | undefined> {
    const id = digestOf(login);
    const kept = await this.#find(id);
    if (kept === undefined) return undefined;
    await this.#options.store.delete(id);
    await this.#options.client.revoke(kept.tokens);
    return address === undefined ? undefined : this.#options.client.whereToSignOut(kept.tokens, `${address}${loginRedirectPath}`);
  }

  /** The caller of the token. @throws GatewayError that tells the operator what to change at the provider */
  async #requireAccepted({ accessToken }: LoginTokens): Promise<Caller> {
    const cure = `At the provider, register this API under the value of OIDC_AUDIENCE, "${this.#options.audience}", and let it issue signed tokens (JWT) for it. If the provider selects the audience by scope, add a scope of this API to OIDC_SCOPES.`;
    if (!this.#options.callers.isToken(accessToken))
      throw new GatewayError(
        'upstream_invalid_response',
        `The OpenID provider ${this.#options.issuer} returned an access token that is not a JSON Web Token, so the gateway cannot check it. ${cure}`,
      );
    try {
      return await this.#options.callers.find(accessToken);
    } catch (error) {
      if (!(error instanceof GatewayError) || error.status !== 401) throw error;
      throw new GatewayError(
        'upstream_invalid_response',
        `The OpenID provider ${this.#options.issuer} returned an access token that is not for this gateway. ${error.message} ${cure}`,
      );
    }
  }

  async #save(id: string, caller: Caller, kept: Pick<StoredLogin, 'tokens' | 'end'>): Promise<LoginToken> {
    const { expiresAt: expires = kept.end } = caller;
    const refreshFrom = expires - Math.min(loginRefreshAheadMs, (expires - this.#options.now()) / 2);
    const end = kept.tokens.refreshToken === undefined ? Math.min(kept.end, expires) : kept.end;
    const value: StoredLogin = { callerId: caller.id, tokens: kept.tokens, refreshFrom, end };
    await this.#options.store.save(
      { id, callerId: caller.id, value: JSON.stringify(value), expires: end },
      { maxNotes: logins, maxCharacters: loginsCharacters, time: this.#options.now() },
    );
    return this.#tokenFor(caller, kept.tokens);
  }

  #tokenFor(caller: Caller, { accessToken, name, email }: LoginTokens): LoginToken {
    const { person, expiresAt: expires = this.#options.now() } = caller;
    const shown = person && { ...withoutUndefined({ name, email }), ...person };
    return { accessToken, expires, caller: { ...caller, ...(shown && { person: shown }) } };
  }

  async #find(id: string): Promise<StoredLogin | undefined> {
    const note = await this.#options.store.find(id, this.#options.now());
    return note === undefined ? undefined : (JSON.parse(note) as StoredLogin);
  }

  /** Reads the login again, because it may have been refreshed since the caller read it. */
  async #refresh(id: string): Promise<LoginToken | undefined> {
    const kept = await this.#find(id);
    if (kept === undefined) return undefined;
    const known = await this.#stillGood(kept);
    if (known !== undefined && this.#options.now() < kept.refreshFrom) return known;
    const tokens = await this.#options.client.refresh(kept.tokens);
    if (tokens === 'refused') {
      await this.#options.store.delete(id);
      return undefined;
    }
    const caller = await this.#requireAccepted(tokens);
    // Signed out or deleted meanwhile: nobody will use these tokens, or revoke them later.
    if (caller.id !== kept.callerId || (await this.#find(id)) === undefined) {
      await this.#options.store.delete(id);
      await this.#options.client.revoke(tokens);
      return undefined;
    }
    return this.#save(id, caller, { tokens, end: kept.end });
  }

  #sharedRefresh(id: string): Promise<LoginToken | undefined> {
    const running = this.#refreshing.get(id) ?? this.#refresh(id).finally(() => this.#refreshing.delete(id));
    this.#refreshing.set(id, running);
    return running;
  }

  /** Undefined for a token that has ended, or is no longer accepted because the provider has changed its keys. */
  async #stillGood({ tokens }: StoredLogin): Promise<LoginToken | undefined> {
    const caller = await this.#options.callers.find(tokens.accessToken).catch((error: unknown) => {
      if (error instanceof GatewayError && error.status === 401) return undefined;
      throw error;
    });
    return caller === undefined || (caller.expiresAt ?? 0) <= this.#options.now() ? undefined : this.#tokenFor(caller, tokens);
  }
}

function addressNeeded(): GatewayError {
  return new GatewayError(
    'conflict',
    'Signing in is not available, because the gateway does not know its public address. Set PUBLIC_URL to that address, such as https://chat.example.com.',
  );
}

/** The same for a `state` that was made up, was used, is too old, or belongs to another browser. */
function notBegunHere(): GatewayError {
  return new GatewayError(
    'forbidden',
    'You are not signed in: this sign-in was started in another browser, has already been used, or is more than ten minutes old. If somebody else sent you this link, close the page. Otherwise start again.',
  );
}
