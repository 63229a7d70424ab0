import type { Caller } from '../../core/callers/caller.ts';
import type { ToolServerRecord } from '../../core/stores/registry.ts';

/** The server answered a request with 401. */
export interface Refusal {
  /** The key that was sent. */
  key: string;
  /** The key was new, so another one would not help. */
  isFinal?: boolean;
  /** Those that the answer demands. */
  scopes?: readonly string[];
}

/** A connection as one caller uses it, with that caller's credential as its `key`. */
export interface OwnToolServer extends ToolServerRecord {
  /** The sign-in that a token comes from, which stays the same when the token is refreshed. `shared`: the gateway signed in itself. */
  signInId?: string;
}

/**
 * A connection as this caller uses it: with the caller's own credential where each person has one, otherwise unchanged. Undefined if the caller has
 * no usable credential. `refusal`: the server rejected the previous key; another one is returned if there can be one.
 * @throws GatewayError when a token has to be refreshed, and the authorization server cannot be asked
 */
export type OwnRecord = (record: ToolServerRecord, caller: Pick<Caller, 'id'>, refusal?: Refusal) => Promise<OwnToolServer | undefined>;

/**
 * Remembers that the server demands these scopes, so that the next sign-in of the caller asks for them too. False if that cannot help: they were asked for
 * before, or are decided by the connection.
 */
export type WantScopes = (record: ToolServerRecord, caller: Pick<Caller, 'id'>, scopes: readonly string[]) => Promise<boolean>;

/** One person's use of a server that asks each person for a credential. */
export interface OwnUse {
  callerId: string;
  own: OwnToolServer;
  /** Another key after a refusal; undefined if there is none. */
  renew: (refusal: Refusal) => Promise<OwnToolServer | undefined>;
  /** The server answered a call with 401. `scopes`: those that it demands. */
  onRefused?: (scopes: readonly string[]) => void;
  /** The server has not executed a call, because the token lacks these scopes (403 `insufficient_scope`). */
  onScopesWanted?: (scopes: readonly string[]) => void;
}
