import { keyIdOf, type Person } from './people.ts';

/** Ids of callers without a stored key: in open mode, and with `TOOLWHARF_ADMIN_KEY`. Ids of stored keys begin with `key_`, those of callers with a token with `oidc_`. */
export const openCallerId = 'local';
export const fixedCallerId = 'admin';

const tokenPrefix = 'oidc_';

/** The id of a caller with a token of an OpenID provider, before the slash and the person. `mark`: of issuer and subject. */
export function tokenCallerKey(mark: string): string {
  return `${tokenPrefix}${mark}`;
}

/** Whether the caller is known by such a token. */
export function hasToken({ id }: Pick<Caller, 'id'>): boolean {
  return id.startsWith(tokenPrefix);
}

/** What is left of a caller's id when the person is deleted. The key of a caller with a token is made of who they are. */
export function withoutPerson({ id }: Pick<Caller, 'id'>): string {
  return hasToken({ id }) ? 'oidc' : keyIdOf(id);
}

/** Who is asking, as lines of the log say it: the key by its name, and a person by their id, never by their name or address. */
export function loggedCaller({ id, name, person }: Pick<Caller, 'id' | 'name' | 'person'>): { caller: string; user?: string } {
  return { caller: name ?? keyIdOf(id), ...(person !== undefined && { user: person.id }) };
}

/** Limits of one caller. Absent: unlimited. */
export interface CallerLimits {
  /** Chats, tool calls, and requests passed on to backends, that may start within any sixty seconds. */
  readonly requestsPerMinute?: number;
  /** How many of them may be active at the same time. */
  readonly concurrentRuns?: number;
  /** Tokens of models, in and out, from midnight to midnight (UTC). A run that has begun is not cut off. */
  readonly tokensPerDay?: number;
}

/** Who is asking: a key, one of the people behind a key, or a person with a token of their own. Whatever is kept belongs to a caller. */
export interface Caller {
  /** Stable; never the key itself. Of a person, `personCallerId`. */
  readonly id: string;
  /** The person, where the key speaks for several, or where a token named them. */
  readonly person?: Person;
  /** Where the key speaks for several people: the headers, in lower case, that say for whom. */
  readonly personHeaders?: readonly string[];
  /** For people who read the log: the name of the key. */
  readonly name?: string;
  readonly role: 'admin' | 'user';
  /** True in open mode. */
  readonly isOpen: boolean;
  /** Models and tools that this key may use (tools as in `tool_ids`); undefined: all. */
  readonly models?: readonly string[];
  readonly tools?: readonly string[];
  readonly limits?: CallerLimits;
  /** Of the key, for all its people together. */
  readonly totalLimits?: CallerLimits;
  /** When the key or the token ends, whichever is earlier, in milliseconds since 1970; undefined: never. */
  readonly expiresAt?: number;
  /** When the token ends that names the caller or the person: nobody can postpone it, as an administrator can the end of a key. */
  readonly tokenExpiresAt?: number;
  /** The program that uses the gateway for the caller, with a token of the gateway's own authorization server: hashes of its id, and of the id of the grant. */
  readonly client?: { readonly id: string; readonly grantId: string };
}

/**
 * Whether the caller's key may use a model or preset. Its own id must be listed, even if another preset hands over to it; the base model of a listed
 * preset need not be. As everywhere, an entry without a tag also means `:latest`.
 */
export function isModelAllowed({ models }: Pick<Caller, 'models'>, id: string): boolean {
  return models === undefined || models.some((entry) => entry === id || `${entry}:latest` === id);
}
