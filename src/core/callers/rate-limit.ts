import type { Caller } from './caller.ts';

/** Ends the admitted request; calling it again does nothing. */
export type Release = () => void;

/** Enforces the limits of callers. */
export interface RateLimiter {
  /** Counts one chat, call or request that is passed on from now until its release. @throws GatewayError `rate_limit_exceeded` with `retryAfter` */
  admit(caller: Caller): Release;
  /** Counts one message over a socket, whatever the key allows otherwise. @throws GatewayError `rate_limit_exceeded` with `retryAfter` */
  admitMessage(caller: Caller): void;
  /** Counts one read of a list of functions, whatever the key allows otherwise. @throws GatewayError `rate_limit_exceeded` with `retryAfter` */
  admitRead(caller: Caller): void;
}
