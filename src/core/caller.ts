/** Ids of callers that have no record: whoever needs no key, and `TOOLWHARF_ADMIN_KEY`. Those of stored keys begin with `key_`. */
export const openCallerId = 'local';
export const fixedCallerId = 'admin';

/** What one caller may do. Absent: as much as it likes. */
export interface CallerLimits {
  /** Chats, calls of tools and embeddings that may begin within any sixty seconds. */
  readonly requestsPerMinute?: number;
  /** How many of them may be under way at a time. */
  readonly concurrentRuns?: number;
}

/** Who is asking: one key is one caller. */
export interface Caller {
  /** Stable; never the key itself. */
  readonly id: string;
  /** For people who read the log: the name of the key. */
  readonly name?: string;
  readonly role: 'admin' | 'user';
  /** True while the gateway is open on a loopback address and nobody needs a key. */
  readonly isOpen: boolean;
  /** Models and tools this key is limited to (entries as in `tool_ids`); undefined: all. */
  readonly models?: readonly string[];
  readonly tools?: readonly string[];
  readonly limits?: CallerLimits;
  /** When the key ends, in milliseconds since 1970; undefined: never. */
  readonly expiresAt?: number;
}

/**
 * Whether the caller's key may ask a model, or a preset, which is one: it must be named itself, whichever way leads to it. What an allowed preset
 * stands on need not be named. An entry without a tag means its `latest` too, as it does everywhere else.
 */
export function isModelAllowed({ models }: Pick<Caller, 'models'>, id: string): boolean {
  return models === undefined || models.some((entry) => entry === id || `${entry}:latest` === id);
}
