import { isDeepStrictEqual } from 'node:util';
import type { FastifyBaseLogger } from 'fastify';
import type { Caller } from '../../../core/callers/caller.ts';
import { GatewayError } from '../../../core/errors.ts';
import type { MaybePromise } from '../../../shared/async/maybe-promise.ts';
import { longestTimerMs } from '../../../shared/async/timer-limits.ts';
import { withoutUndefined } from '../../../shared/json/without-undefined.ts';
import type { PersonSource } from '../../auth/identify-person.ts';

interface SocketKeyOptions {
  /** Undefined when the token is unknown. @throws GatewayError as `Authenticator.findByToken` */
  authenticateToken(token: string, source: PersonSource): MaybePromise<Caller | undefined>;
  /** The request that opened the socket. It may name the person. */
  upgrade: PersonSource;
  /** Milliseconds since 1970. */
  now: () => number;
  log: FastifyBaseLogger;
  /** Called when the token expires. */
  onExpired: () => void;
}

type Failure = { type: 'failed'; code: number; reason: string; isUnnamed?: boolean };
type Authentication = { type: 'known'; caller: Caller } | { type: 'unknown' } | Failure;

/** The key or token that one socket uses, which may be revoked or expire while the socket is open. */
export class SocketKey {
  readonly #options: SocketKeyOptions;
  #token: string | undefined;
  #findCaller: (() => Promise<Caller | undefined>) | undefined;
  #expiryTimer: NodeJS.Timeout | undefined;

  constructor(options: SocketKeyOptions) {
    this.#options = options;
  }

  get token(): string | undefined {
    return this.#token;
  }

  useToken(token: string, { person, tokenExpiresAt }: Caller): void {
    this.#token = token;
    // The person is known by now, and the token that named them does not come again.
    const named = person && { person, ...withoutUndefined({ tokenExpiresAt }) };
    this.#findCaller = async () => this.#options.authenticateToken(token, named === undefined ? this.#options.upgrade : { named });
  }

  /** For a socket without a key: `findCaller` looks up whether its caller may still do without. */
  useOpenMode(findCaller: () => Promise<Caller | undefined>): void {
    this.#findCaller = findCaller;
  }

  /** The caller of a token in an auth frame. `user`: the person whom the frame names; a proxy that names one in the upgrade has the last word. */
  async authenticate(token: string, user: string | undefined): Promise<Authentication> {
    const byUpgrade = await this.#authenticateFrom(token, this.#options.upgrade);
    const isUnnamed = byUpgrade.type === 'failed' && byUpgrade.isUnnamed === true;
    if (user === undefined || (byUpgrade.type !== 'known' && !isUnnamed)) return byUpgrade;
    const byFrame = await this.#authenticateFrom(token, { user });
    const isOther = byUpgrade.type === 'known' && byFrame.type === 'known' && byFrame.caller.id !== byUpgrade.caller.id;
    return isOther ? { type: 'failed', code: 4401, reason: 'The auth frame and the upgrade request name different users.' } : byFrame;
  }

  async #authenticateFrom(token: string, source: PersonSource): Promise<Authentication> {
    try {
      const caller = await this.#options.authenticateToken(token, source);
      return caller === undefined ? { type: 'unknown' } : { type: 'known', caller };
    } catch (error) {
      if (isUnknown(error)) return { type: 'unknown' };
      if (error instanceof GatewayError && error.status < 500) {
        const isUnnamed = error.code === 'user_required';
        const reason = isUnnamed ? 'The auth frame must name the user, as `user`.' : 'The user is not known here.';
        return { type: 'failed', code: 4401, reason, isUnnamed };
      }
      this.#options.log.warn({ err: error }, 'the key of a socket cannot be checked');
      return { type: 'failed', code: 1013, reason: 'The keys cannot be read at the moment.' };
    }
  }

  /** Whether the key still has the rights of this caller. If the store cannot be read, it counts as valid. */
  async isValidFor(caller: Caller | undefined): Promise<boolean> {
    if (this.#findCaller === undefined) return true;
    const found = await this.#findCaller().catch((error: unknown) => {
      if (isUnknown(error)) return undefined;
      this.#options.log.warn({ err: error }, 'the key of a socket cannot be checked');
      return caller;
    });
    return caller === undefined || isSameKey(found, caller);
  }

  /**
   * Ends the socket with its token. Not with its key, whose end may be moved, and which is polled. The session stays for a while, so that a new token
   * can resume it.
   */
  watchExpiry({ tokenExpiresAt: expiresAt }: Caller): void {
    clearTimeout(this.#expiryTimer);
    if (expiresAt === undefined) return;
    const leftMs = expiresAt - this.#options.now();
    // A later end than a timer can wait for is found by the poll.
    if (leftMs < longestTimerMs) this.#expiryTimer = setTimeout(this.#options.onExpired, Math.max(leftMs, 0));
  }

  stop(): void {
    clearTimeout(this.#expiryTimer);
  }
}

/** Whether the token is no longer valid, or never was. */
function isUnknown(error: unknown): boolean {
  return error instanceof GatewayError && error.code === 'invalid_api_key';
}

/** Whether the key has the same rights as before; its name may change. */
function isSameKey(found: Caller | undefined, before: Caller): boolean {
  return isDeepStrictEqual({ ...found, name: undefined }, { ...before, name: undefined });
}
