import type { Caller } from './caller.ts';
import type { ToolServerRecord } from './registry.ts';

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
export interface Credential {
  /** `key`: entered by the person. */
  kind: 'key';
  secret: string;
  scopes?: readonly string[];
  /** Milliseconds since 1970; absent: it does not expire. */
  expires?: number;
  binding: CredentialBinding;
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
  keep(callerId: string, server: string, credential: Credential): Promise<void>;
  /** Undefined also for one that cannot be decrypted with the current secret. */
  find(callerId: string, server: string): Promise<Credential | undefined>;
  /** By the id of the server. */
  listOf(callerId: string): Promise<Map<string, Credential>>;
  /** Resolves to whether there was one. */
  forget(callerId: string, server: string): Promise<boolean>;
  /** Of a key also those of its people. */
  forgetAllOf(callerId: string): Promise<void>;
  /** Those of everybody for these servers. */
  forgetServers(servers: readonly string[]): Promise<void>;
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

/** The caller's own credentials, for the tool servers that ask each person for one and that the caller may use. */
export interface OwnCredentials {
  list(caller: Caller): Promise<ShownCredential[]>;
  /** @throws GatewayError `not_found` for a server that asks nobody, or that the caller may not use */
  serverOf(caller: Caller, server: string): Promise<ToolServerRecord>;
  /** @throws GatewayError `not_found` for any other server, `invalid_request` for a key that does not fit, `conflict` */
  keep(caller: Caller, server: string, key: string): Promise<ShownCredential>;
  /** Also for a server that the caller may no longer use. @throws GatewayError `not_found` */
  forget(caller: Caller, server: string): Promise<void>;
}
