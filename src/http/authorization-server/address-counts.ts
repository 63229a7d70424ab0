import { LRUCache } from 'lru-cache';
import { GatewayError } from '../../core/errors.ts';

/** Addresses that are remembered. */
const addresses = 10_000;

/** How often something may be done from one address, or from everything behind one proxy. */
export interface AddressCount {
  max: number;
  withinMs: number;
  /** What is too often, and when to try again: the message for whoever does it. */
  message: string;
}

export interface CountedAddress {
  /** Counts one more. @throws GatewayError `rate_limit_exceeded` */
  count: (address: string) => void;
  /** @throws GatewayError `rate_limit_exceeded` when there may be none more */
  require: (address: string) => void;
}

/** Counts in windows of time, each of which begins with its first event. */
export function createAddressCount({ max, withinMs, message }: AddressCount, now: () => number): CountedAddress {
  const windows = new LRUCache<string, { begun: number; count: number }>({ max: addresses });

  function windowOf(address: string): { begun: number; count: number } {
    const known = windows.get(address);
    if (known !== undefined && now() - known.begun < withinMs) return known;
    const fresh = { begun: now(), count: 0 };
    windows.set(address, fresh);
    return fresh;
  }

  function require(address: string): void {
    const { begun, count } = windowOf(address);
    if (count < max) return;
    const retryAfter = String(Math.max(Math.ceil((begun + withinMs - now()) / 1_000), 1));
    throw new GatewayError('rate_limit_exceeded', message, { retryAfter });
  }

  return {
    require,
    count(address) {
      require(address);
      windowOf(address).count += 1;
    },
  };
}
