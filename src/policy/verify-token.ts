import { setTimeout } from 'node:timers/promises';
import type * as Jose from 'jose';
import type { JWTPayload as TokenClaims, JWTVerifyGetKey } from 'jose';
import { LRUCache } from 'lru-cache';
import { GatewayError } from '../core/errors.ts';
import { readText, type SendOutbound } from '../core/outbound.ts';
import { hasMoreValuesThan } from '../shared/json/json-depth.ts';
import { createKeySetReloads } from './key-set-reloads.ts';

export type { TokenClaims };

/** Clocks of whoever signs and the gateway may differ by as much. */
const leewaySeconds = 60;
const timeoutMs = 5_000;
const documentBytes = 1_048_576;
/** Of discovery, or of a key set, whose keys are gone through for each token: hundreds of keys. */
const documentValues = 5_000;
/** Key sets that are kept; each was configured by an administrator. */
const maxKeySets = 100;

interface TokenDemands {
  /** A shared secret, or the address of a key set. */
  key: { secret: string } | { keySetUrl: string };
  algorithms: string[];
  issuer?: string | undefined;
  audience?: string | undefined;
  /** Turns what is wrong with the token, as "it has expired", into the error for whoever sent it. */
  refuse: (why: string) => GatewayError;
}

export interface TokenVerifier {
  /**
   * Checks signature, `exp` (which is required), `nbf`, issuer and audience.
   * @throws what `refuse` returns, and GatewayError `identity_unavailable` when the key set cannot be read
   */
  verify: (token: string, demands: TokenDemands) => Promise<TokenClaims>;
  /** @throws GatewayError `identity_unavailable` */
  readDocument: (url: string) => Promise<unknown>;
}

/** When what a verified token has opened ends: with its `exp`, or with the leeway if the token was used after that. */
export function endOfToken({ exp = 0 }: TokenClaims, now: number): number {
  const end = exp * 1_000;
  return end > now ? end : end + leewaySeconds * 1_000;
}

interface TokenVerifierOptions {
  send: SendOutbound;
  /** Milliseconds since 1970. */
  now: () => number;
  /** Waits this many milliseconds. Default: a timer. */
  wait?: (ms: number) => Promise<unknown>;
}

/** Verifies with `jose`, whose key sets are fetched by the gateway's only way out. */
export function createTokenVerifier({ send, now, wait = pause }: TokenVerifierOptions): TokenVerifier {
  const keySets = new LRUCache<string, JWTVerifyGetKey>({ max: maxKeySets });

  function createKeySet(url: string, jose: typeof Jose): JWTVerifyGetKey {
    const keySet = jose.createRemoteJWKSet(new URL(url), {
      timeoutDuration: timeoutMs,
      [jose.customFetch]: (from: string) => fetchDocument(send, from),
      // Its own rule would refuse a key that is new within half a minute.
      cooldownDuration: Number.POSITIVE_INFINITY,
    });
    const isAbsent = (error: unknown): boolean => error instanceof jose.errors.JWKSNoMatchingKey;
    const reloads = createKeySetReloads({ reload: () => keySet.reload(), isAbsent, now, wait });
    return (header, token) => reloads.findKey(header.kid, () => keySet(header, token));
  }

  function keySetOf(url: string, jose: typeof Jose): JWTVerifyGetKey {
    const known = keySets.get(url) ?? createKeySet(url, jose);
    keySets.set(url, known);
    return known;
  }

  return {
    async verify(token, { key, algorithms, issuer, audience, refuse }) {
      const jose = await import('jose');
      const options = {
        algorithms,
        requiredClaims: ['exp'],
        clockTolerance: leewaySeconds,
        currentDate: new Date(now()),
        ...(issuer !== undefined && { issuer }),
        ...(audience !== undefined && { audience }),
      };
      try {
        if ('secret' in key) return (await jose.jwtVerify(token, new TextEncoder().encode(key.secret), options)).payload;
        return (await jose.jwtVerify(token, keySetOf(key.keySetUrl, jose), options)).payload;
      } catch (error) {
        const why = whyRefused(error, jose);
        throw why === undefined ? unavailable(error) : refuse(why);
      }
    },
    async readDocument(url) {
      try {
        const response = await fetchDocument(send, url);
        if (response.status !== 200) throw new Error(`${url} answers HTTP ${response.status}`);
        return await response.json();
      } catch (error) {
        throw unavailable(error);
      }
    },
  };
}

async function fetchDocument(send: SendOutbound, url: string): Promise<Response> {
  const { status, body } = await send({
    method: 'GET',
    url,
    headers: { accept: 'application/jwk-set+json, application/json' },
    trust: { kind: 'configured', origin: new URL(url).origin },
    signal: AbortSignal.timeout(timeoutMs),
    firstByteTimeoutMs: timeoutMs,
    idleTimeoutMs: timeoutMs,
  });
  const { text, isTruncated } = await readText(body, documentBytes);
  if (isTruncated || hasMoreValuesThan(text, documentValues))
    throw new Error(`${url} answers more than ${documentBytes} bytes or ${documentValues} values.`);
  return new Response(text, { status });
}

const pause = (ms: number): Promise<void> => setTimeout(ms, undefined, { ref: false });

/** Whatever is wrong with the token itself is the client's; undefined for anything else, which means that the key set cannot be had. */
function whyRefused(error: unknown, { errors }: typeof Jose): string | undefined {
  if (error instanceof errors.JWTExpired) return 'it has expired';
  if (error instanceof errors.JWTClaimValidationFailed) return `its claim "${error.claim}" does not have the required value`;
  const isOfToken = [
    errors.JWSSignatureVerificationFailed,
    errors.JWSInvalid,
    errors.JWTInvalid,
    errors.JOSEAlgNotAllowed,
    errors.JOSENotSupported,
    errors.JWKSNoMatchingKey,
    errors.JWKSMultipleMatchingKeys,
  ];
  return isOfToken.some((kind) => error instanceof kind) ? 'its signature is not valid' : undefined;
}

export function unavailable(cause: unknown): GatewayError {
  return new GatewayError(
    'identity_unavailable',
    'The keys that sign tokens cannot be read at the moment. Try again later; the log says why.',
    {
      retryAfter: '5',
      cause,
    },
  );
}
