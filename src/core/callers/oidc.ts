import type { Caller } from './caller.ts';

/** The callers whom tokens of the issuer let in. */
export interface OidcCallers {
  /** Whether a credential is to be taken for a token instead of a key. */
  isToken(credential: string): boolean;
  /**
   * `expiresAt` of the caller is that of the token.
   * @throws GatewayError `invalid_api_key`, and `identity_unavailable` when the keys of the issuer cannot be read
   */
  find(token: string): Promise<Caller>;
  /** Without a token nothing is known of a caller but who they are: no administrator, and no name. Undefined for ids of other callers. */
  findById(id: string): Caller | undefined;
}

/** The gateway as a client of the issuer. */
export interface OidcClientSettings {
  readonly id: string;
  readonly secret?: string;
  /** With `openid`. */
  readonly scopes: readonly string[];
}
