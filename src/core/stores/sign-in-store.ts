import type { JsonObject } from '../../shared/json/json.ts';
import type { Person } from '../callers/people.ts';

/** A link with which one caller connects to one tool server, and the sign-in that was begun with it. */
export interface StoredSignIn {
  /** A hash of the link's secret part: whoever reads the store has no link. */
  id: string;
  callerId: string;
  server: string;
  /** The person, as their frontend named them when the link was made; only to be shown. */
  person?: Pick<Person, 'name' | 'email'>;
  /** Milliseconds since 1970. */
  expires: number;
  isUsed: boolean;
}

/** A sign-in that an authorization server was asked for. */
export interface BegunSignIn {
  /** A hash of `state`. */
  state: string;
  /** A hash of the cookie of the browser that began it. */
  browser: string;
  /** Milliseconds since 1970. */
  expires: number;
  /** What the exchange of the code needs, with its verifier. */
  pending: JsonObject;
}

export interface SignInBounds {
  /** Now, in milliseconds since 1970; what expired before is deleted. */
  time: number;
  maxOfCaller: number;
  /** Of everybody: beyond it the key with the most loses its oldest. */
  max: number;
  /** Of everybody, as they are stored. */
  maxCharacters: number;
}

/**
 * Stores links and sign-ins, encrypted. That a link and a state are each used once is decided by the store, for all processes that share it.
 * @throws GatewayError `storage_unavailable`
 */
export interface SignInStore {
  add(signIn: Omit<StoredSignIn, 'isUsed'>, bounds: SignInBounds): Promise<void>;
  /** Undefined also for one that has expired, or cannot be decrypted with the current secret. */
  find(id: string, time: number): Promise<StoredSignIn | undefined>;
  /** Uses the link up, and notes what was begun with it. False if it was used before, or is no longer there. */
  use(id: string, time: number, begun?: BegunSignIn): Promise<boolean>;
  /** The sign-in of a state that is neither used nor expired. */
  findBegun(state: string, time: number): Promise<(StoredSignIn & { begun: BegunSignIn }) | undefined>;
  /** Uses the state up, and deletes what was pending. False if it was used before. */
  finish(state: string, time: number): Promise<boolean>;
  /** Of a key also those of its people. */
  deleteAllOf(callerId: string): Promise<void>;
  /** Those of everybody for these servers. */
  deleteOfServers(servers: readonly string[]): Promise<void>;
}
