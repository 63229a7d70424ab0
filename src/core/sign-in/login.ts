import type { Caller } from '../callers/caller.ts';
import type { LeavingBrowser } from './sign-in.ts';

/** What the provider gave when somebody signed in to the console. Secret. */
export interface LoginTokens {
  /** For the gateway's API. */
  accessToken: string;
  refreshToken?: string;
  /** Only to tell the provider who signs out. */
  idToken?: string;
  /** As the provider calls the person; only to be shown. */
  name?: string;
  email?: string;
}

/** What the exchange of a code needs. Secret: it holds the verifier. */
export interface PendingLogin {
  state: string;
  nonce: string;
  verifier: string;
  redirectUri: string;
}

/** The gateway as a client of the configured OpenID provider. Every function but `revoke` throws GatewayError `upstream_…`, `egress_denied` or `forbidden`. */
export interface OpenIdClient {
  /** Where the browser goes. `wantsOtherAccount`: the provider asks who it is, even if it knows somebody. */
  begin(
    asked: Omit<PendingLogin, 'verifier'> & { wantsOtherAccount: boolean },
  ): Promise<{ authorizationUrl: string; verifier: PendingLogin['verifier'] }>;
  /** Checks the answer of the provider and its ID token. */
  exchange(answer: URLSearchParams, pending: PendingLogin): Promise<LoginTokens>;
  /** `refused`: the provider says that the person is no longer signed in. */
  refresh(tokens: LoginTokens): Promise<LoginTokens | 'refused'>;
  /** Where the provider offers it, within `limits.oauthRevocationMs`. Never rejects. */
  revoke(tokens: LoginTokens): Promise<void>;
  /** Where the browser signs out of the provider too, which then leads it to `redirectUri`. Undefined if it offers no such page. */
  whereToSignOut(tokens: LoginTokens, redirectUri: string): Promise<string | undefined>;
}

/** A token of the person who is signed in. */
export interface LoginToken {
  accessToken: string;
  caller: Caller;
  /** Milliseconds since 1970. */
  expires: number;
}

/**
 * Logins: that somebody is signed in to the console in one browser, which has a secret of its own for it (`login`) in a cookie. Their tokens stay with
 * the gateway but for the access token, which the page gets.
 */
export interface Logins {
  /** `address`: of the gateway (`http/public-address.ts`). `returnTo`: a path. @throws GatewayError as `OpenIdClient.begin`, `conflict` without an address */
  begin(asked: { address: string | undefined; returnTo: string; wantsOtherAccount: boolean }): Promise<LeavingBrowser>;
  /** The name of the cookie by which `begin` knows a browser. `address`: as for `begin`. */
  cookieName(state: string, address: string | undefined): string;
  /**
   * `cookie`: the value of the cookie of that name. `before`: who was signed in in this browser until now; their login is forgotten.
   * @throws GatewayError `forbidden` for a browser that has not begun, for a `state` that was used and one that is older than ten minutes, and for an
   * answer that lets nobody in; `upstream_invalid_response` if the provider's token is none for this API; and as `OpenIdClient.exchange`
   */
  finish(
    answer: URLSearchParams,
    browser: { cookie: string | undefined; before: string | undefined },
  ): Promise<{ login: string; returnTo: string; caller: Caller }>;
  /** Renewed where it is about to end. Undefined if nobody is signed in, or not any more. @throws GatewayError if the provider cannot be asked and has to be */
  tokenOf(login: string): Promise<LoginToken | undefined>;
  /** Forgets the tokens, and revokes them. @returns where the browser signs out of the provider too */
  end(login: string, address: string | undefined): Promise<string | undefined>;
}
