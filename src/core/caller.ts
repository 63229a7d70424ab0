import type { CallerLimits } from './rate-limit.ts';

/** Who is asking: one key is one caller. */
export interface Caller {
  /** Stable; never the key itself. */
  readonly id: string;
  readonly role: 'admin' | 'user';
  /** True while the gateway is open on a loopback address and nobody needs a key. */
  readonly isOpen: boolean;
  /** Models and tools this key is limited to (entries as in `tool_ids`); undefined: all. */
  readonly models?: readonly string[];
  readonly tools?: readonly string[];
  readonly limits?: CallerLimits;
}
