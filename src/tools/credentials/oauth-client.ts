import type { OAuthClientCredentials, OAuthCredential } from '../../core/credentials.ts';
import type { ToolServerRecord } from '../../core/registry.ts';

/** What the exchange of a code needs. Plain JSON, and secret: it holds the verifier, and with some servers the secret of the client. */
export interface PendingAuthorization {
  verifier: string;
  issuer: string;
  tokenEndpoint: string;
  revocationEndpoint?: string;
  /** The authorization server announces that its answers name it (RFC 9207). */
  namesIssuer: boolean;
  client: OAuthClientCredentials;
  /** The client was registered by this gateway, which forgets the registration if the server does not know it any more. */
  isRegistered: boolean;
  redirectUri: string;
  resource?: string;
  scopes?: readonly string[];
  /** Of the tool server. */
  origin: string;
}

export interface BegunAuthorization {
  /** Where the browser goes, with the `state` that was given. */
  authorizationUrl: string;
  /** The origin of that, for the page and for its `form-action`. */
  authorizationServer: string;
  pending: PendingAuthorization;
}

/** Signs people in at the authorization servers of tool servers (OAuth 2.1: authorization code with PKCE). */
export interface OAuthClient {
  /**
   * Discovery, and registration if need be. `redirectUri`: `<address of the gateway>/oauth/callback`.
   * @throws GatewayError `upstream_unreachable`, `upstream_invalid_response`, `conflict`, which say what is wrong with the server or the connection
   */
  begin(record: ToolServerRecord, redirectUri: string, state: string): Promise<BegunAuthorization>;
  /**
   * Checks the answer of the authorization server (RFC 9207) and exchanges the code. `state` was checked by the caller.
   * @throws GatewayError `forbidden` if the person or the server refused, `conflict` if the connection has changed, and as `begin`
   */
  complete(record: ToolServerRecord, pending: PendingAuthorization, callback: URLSearchParams): Promise<OAuthCredential>;
}
