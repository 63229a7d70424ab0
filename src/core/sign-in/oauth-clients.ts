import type { OAuthClientCredentials } from './credentials.ts';

/** How this gateway has registered with an authorization server. */
export interface RegisteredClient extends OAuthClientCredentials {
  /** When its secret expires, in milliseconds since 1970. */
  expires?: number;
}

/** For which registration: one for each authorization server and redirect address. */
export interface RegistrationKey {
  issuer: string;
  redirectUri: string;
}

/**
 * Stores registrations with authorization servers, encrypted.
 * @throws GatewayError `storage_unavailable`
 */
export interface OAuthClientStore {
  /** Undefined also for one that cannot be decrypted with the current secret. */
  find(place: RegistrationKey): Promise<RegisteredClient | undefined>;
  /** Adds the registration unless there is one, and resolves to the one that is stored: processes that register at the same time agree on one. */
  findOrAdd(place: RegistrationKey, client: RegisteredClient): Promise<RegisteredClient>;
  /** Deletes the registration if it still is the one of this id. */
  delete(place: RegistrationKey, clientId: string): Promise<void>;
}
