import type { Caller } from './caller.ts';

/** Ends what was admitted; calling it again does nothing. */
export type Release = () => void;

/**
 * Counts what callers do. One implementation counts in this process; where replicas share their limits another one counts elsewhere, which is
 * why it may take time.
 */
export interface RateLimiter {
  /** Counts one chat, call or embedding from now until its release. @throws GatewayError `rate_limit_exceeded` with `retryAfter` */
  admit(caller: Caller): Promise<Release>;
  /** Counts one message over a socket, whatever the key allows otherwise. @throws GatewayError `rate_limit_exceeded` with `retryAfter` */
  admitMessage(caller: Caller): Promise<void>;
}
