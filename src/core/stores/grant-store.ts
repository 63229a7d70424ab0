import type { JsonObject } from '../../shared/json/json.ts';

/**
 * What the gateway's authorization server for `/mcp` stores. `client`: a program that has registered. `request`: what a program asks a person for, until they have decided. `grant`:
 * their consent. `authorization`: the same as people see it in the list of programs. `code`, `access`, `refresh`: what a program has been given.
 */
export type GrantRecordKind = 'client' | 'request' | 'grant' | 'authorization' | 'code' | 'access' | 'refresh';

export interface GrantRecord {
  kind: GrantRecordKind;
  /** A hash of the id, which is the secret itself for codes and tokens: the store gives none away. */
  id: string;
  /** A hash of the id of the client. */
  clientId: string;
  /** The caller who has agreed. Of a `client` or `request`, which nobody has agreed to yet, the address it came from (`addressOwner`). */
  ownerId: string;
  /** A hash of the id of the grant by which it exists. */
  grantId?: string;
  /** Milliseconds since 1970. */
  expires: number;
  /** When a code or refresh token was used up, or when an authorization was used last. Milliseconds since 1970. */
  used?: number;
  value: JsonObject;
}

export interface GrantBounds {
  /** Now, in milliseconds since 1970; records of any kind that expired before are deleted. */
  time: number;
  /** Records of this kind, of everybody. Beyond it the owner with the most loses the oldest. Clients with a grant stay. */
  max?: number;
  /** Of its grant; without a grant, of its owner. Beyond it the oldest goes. */
  maxOfOwner: number;
}

/** Whose records: those of an owner (of a key also those of its people), of a client, or both. At least one is given. */
export interface GrantFilter {
  ownerId?: string;
  clientId?: string;
}

/** How long a client lives to which nobody has granted anything, from its registration or from the end of its last grant. */
export const unusedClientMs = 24 * 60 * 60 * 1_000;

/**
 * Stores records, each encrypted. That a code and a refresh token are each used once is decided by the store, for all processes that share it.
 * @throws GatewayError `storage_unavailable`
 */
export interface GrantStore {
  /** Adds a record or replaces the one of this kind and id. False, and nothing is stored, when no room can be made for it. */
  save(record: GrantRecord, bounds: GrantBounds): Promise<boolean>;
  /** Undefined also for a record that has expired, or cannot be decrypted with the current secret. */
  find(kind: GrantRecordKind, id: string, time: number): Promise<GrantRecord | undefined>;
  /** Uses it up; it is kept until `keepUntil` at most, to recognize a second use. False if it was used before, or is no longer there. */
  use(kind: GrantRecordKind, id: string, at: { time: number; keepUntil: number }): Promise<boolean>;
  /** Notes that the authorization of a grant was used. */
  noteUse(grantId: string, time: number): Promise<void>;
  /** The client lives at least as long as this, because it has been granted something. */
  keepClient(clientId: string, expires: number): Promise<void>;
  /** Clients and authorizations, newest first. */
  list(kind: 'client' | 'authorization', filter: GrantFilter, time: number): Promise<GrantRecord[]>;
  delete(kind: GrantRecordKind, id: string): Promise<void>;
  /** Deletes a grant and all that exists by it. A client without a grant lives for `unusedClientMs` from then on, as after the next two. */
  deleteGrant(grantId: string): Promise<void>;
  /** Deletes what one owner has granted to one client; without an owner also the client, and what everybody has granted to it. */
  deleteClient(clientId: string, ownerId?: string): Promise<void>;
  /** Of a key also those of its people. */
  deleteAllOf(ownerId: string): Promise<void>;
}
