import type { Caller } from '../callers/caller.ts';
import type { ToolServerRecord } from '../stores/registry.ts';

/** What a credential was given for. With any other origin, `auth_type` or issuer it counts as missing, because it was not meant for that. */
export interface CredentialBinding {
  /** Of the tool server's URL. */
  origin: string;
  /** `auth_type` of the connection. */
  authType: string;
  /** The authorization server that issued it; absent for a key that a person has entered. */
  issuer?: string;
}

/** A person's own credential for a tool server. */
export type Credential = KeyCredential | OAuthCredential;

/** A key that the person has entered. */
export interface KeyCredential {
  kind: 'key';
  secret: string;
  /** The tool server has answered it with 401. */
  ended?: 'missing';
  binding: CredentialBinding;
}

/** What the person has signed in for. */
export interface OAuthCredential {
  kind: 'oauth';
  /** Stays the same when tokens are refreshed. */
  signInId: string;
  accessToken: string;
  refreshToken?: string;
  scopes?: readonly string[];
  /** What the sign-in asked for; absent: nothing in particular. */
  requestedScopes?: readonly string[];
  /** Further scopes that the tool server has demanded since. The next sign-in asks for them too. */
  wantedScopes?: readonly string[];
  /** When the access token expires, in milliseconds since 1970; absent: the authorization server has not said. */
  expires?: number;
  /** When it is time for another access token, in milliseconds since 1970. */
  refreshFrom?: number;
  /** Why it is of no use any more: the authorization server refuses to refresh it (`expired`), or the tool server refuses a new token too (`missing`). */
  ended?: 'expired' | 'missing';
  /** Whom the tokens were given to, and where they are refreshed and revoked. */
  client: OAuthClientCredentials;
  /** The redirect address for which the gateway has registered as this client; absent: it has not. */
  registeredFor?: string;
  tokenEndpoint: string;
  revocationEndpoint?: string;
  /** For whom tokens are requested (RFC 8707). */
  resource?: string;
  binding: CredentialBinding & { issuer: string };
}

/** How the gateway is known to an authorization server. */
export interface OAuthClientCredentials {
  id: string;
  secret?: string;
  /** `token_endpoint_auth_method`. */
  method: 'none' | 'client_secret_basic' | 'client_secret_post';
}

/** A credential with the mark of its version, which is another one after every change. */
export interface StoredCredential {
  credential: Credential;
  revision: string;
}

/**
 * Stores credentials, each of one caller for one tool server. Nothing can be asked without its caller.
 * @throws GatewayError `storage_unavailable`
 */
export interface CredentialStore {
  /**
   * Adds the credential or replaces the one for this server. Resolves when it is durable.
   * @throws GatewayError `conflict` beyond `limits.credentialsPerKey`: the credentials of others never make room
   */
  save(callerId: string, server: string, credential: Credential): Promise<void>;
  /** Undefined also for one that cannot be decrypted with the current secret. */
  find(callerId: string, server: string): Promise<StoredCredential | undefined>;
  /** By the id of the server. */
  listOf(callerId: string): Promise<Map<string, Credential>>;
  /** Replaces the credential if it still has this revision, and ends its lease. False otherwise. */
  replace(callerId: string, server: string, change: { revision: string; credential: Credential }): Promise<boolean>;
  /**
   * Takes the lease of a credential of this revision, so that of all processes one refreshes it. False if another has it, or the revision has changed.
   * `now` and `until`: milliseconds since 1970; it ends by itself at `until`.
   */
  claim(callerId: string, server: string, lease: CredentialLease & { now: number }): Promise<boolean>;
  /** Gives the lease back without a change. Does nothing if it has ended. */
  release(callerId: string, server: string, lease: CredentialLease): Promise<void>;
  /** Resolves to the credential that was deleted; undefined if there was none, or one that cannot be decrypted. */
  delete(callerId: string, server: string): Promise<Credential | undefined>;
  /** Of a key also those of its people. Resolves to those that were deleted and can be decrypted. */
  deleteAllOf(callerId: string): Promise<Credential[]>;
  /** Those of everybody for these servers, likewise. */
  deleteOfServers(servers: readonly string[]): Promise<Credential[]>;
}

interface CredentialLease {
  revision: string;
  until: number;
}

/** What a caller sees of their own credential for a tool server; never its secret. */
export interface ShownCredential {
  server: string;
  name: string;
  kind: Credential['kind'];
  state: 'missing' | 'connected' | 'expired';
  scopes?: readonly string[];
  /** Milliseconds since 1970. */
  expires?: number;
}

/** What a sign-in asks for because the tool server has demanded more scopes since the last one. */
export interface FurtherScopes {
  /** Of the last sign-in. */
  held: readonly string[];
  wanted: readonly string[];
}

/** The caller's own credentials, for the tool servers that ask each person for one and that the caller may use. */
export interface OwnCredentials {
  list(caller: Caller): Promise<ShownCredential[]>;
  /** @throws GatewayError `not_found` for a server that asks nobody, or that the caller may not use */
  serverOf(caller: Caller, server: string): Promise<ToolServerRecord>;
  /** @throws GatewayError `not_found` for any other server, `invalid_request` for a key that does not fit, `conflict` */
  save(caller: Caller, server: string, key: string): Promise<ShownCredential>;
  /** Stores what the caller has signed in for. @throws GatewayError `not_found` for a server that asks nobody, or that the caller may not use */
  saveSignIn(caller: Caller, server: string, credential: OAuthCredential): Promise<ShownCredential>;
  /** Also for a server that the caller may no longer use. @throws GatewayError `not_found` */
  delete(caller: Caller, server: string): Promise<void>;
  /** For administrators: what a caller has stored, also for servers that are disabled, gone, or no longer open to them. Nothing is checked about the id. */
  listStored(callerId: string): Promise<ShownCredential[]>;
  /** For administrators: as `delete`. @throws GatewayError `not_found` */
  deleteStored(callerId: string, server: string): Promise<void>;
  /** What the next sign-in at this server has to ask for beyond the last one; undefined if nothing. */
  furtherScopes(caller: Caller, server: string): Promise<FurtherScopes | undefined>;
  /**
   * Undefined for a server that asks nobody, or that the caller may not use. It is also `missing` while the server demands further scopes; a call that needs
   * them waits, and the others use what there is.
   */
  stateOf(caller: Caller, server: string): Promise<ShownCredential['state'] | undefined>;
  /** Calls `onConnected` whenever this process stores a credential of the caller for the server, until the returned function is called. */
  watch(callerId: string, server: string, onConnected: () => void): () => void;
}
