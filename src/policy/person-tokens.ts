import type * as Jose from 'jose';
import type { JWTPayload, JWTVerifyGetKey } from 'jose';
import { LRUCache } from 'lru-cache';
import { GatewayError } from '../core/errors.ts';
import { readText } from '../core/outbound.ts';
import type { SendOutbound } from '../core/outbound.ts';
import { requirePersonId, toPerson } from '../core/people.ts';
import type { PeopleRule, Person, PersonTokens } from '../core/people.ts';

/** Clocks of frontend and gateway may differ by as much. */
const leewaySeconds = 60;
const keySetTimeoutMs = 5_000;
const keySetBytes = 1_048_576;
/** Key sets that are kept; each belongs to a key that an administrator made. */
const maxKeySets = 100;

type TokenRule = Extract<PeopleRule, { from: 'jwt' }>;

export interface PersonTokenOptions {
  send: SendOutbound;
  /** Milliseconds since 1970. */
  now: () => number;
}

/** Checks signature, `exp`, issuer and audience with `jose`, whose key sets are fetched by the gateway's only way out. */
export function createPersonTokens({ send, now }: PersonTokenOptions): PersonTokens {
  const keySets = new LRUCache<string, JWTVerifyGetKey>({ max: maxKeySets });

  async function keySetOf(url: string, jose: typeof Jose): Promise<JWTVerifyGetKey> {
    const known = keySets.get(url);
    if (known !== undefined) return known;
    const created = jose.createRemoteJWKSet(new URL(url), {
      timeoutDuration: keySetTimeoutMs,
      [jose.customFetch]: fetchKeySet,
    });
    keySets.set(url, created);
    return created;
  }

  async function fetchKeySet(url: string): Promise<Response> {
    const { status, body } = await send({
      method: 'GET',
      url,
      headers: { accept: 'application/jwk-set+json, application/json' },
      trust: { kind: 'configured', origin: new URL(url).origin },
      signal: AbortSignal.timeout(keySetTimeoutMs),
      firstByteTimeoutMs: keySetTimeoutMs,
      idleTimeoutMs: keySetTimeoutMs,
    });
    return new Response((await readText(body, keySetBytes)).text, { status });
  }

  async function payloadOf(token: string, rule: TokenRule): Promise<JWTPayload> {
    const jose = await import('jose');
    const options = {
      algorithms: rule.secret === undefined ? ['RS256', 'ES256'] : ['HS256'],
      requiredClaims: ['exp'],
      clockTolerance: leewaySeconds,
      currentDate: new Date(now()),
      ...(rule.issuer !== undefined && { issuer: rule.issuer }),
      ...(rule.audience !== undefined && { audience: rule.audience }),
    };
    try {
      if (rule.secret !== undefined) return (await jose.jwtVerify(token, new TextEncoder().encode(rule.secret), options)).payload;
      return (await jose.jwtVerify(token, await keySetOf(rule.jwksUrl ?? '', jose), options)).payload;
    } catch (error) {
      throw toRefusal(error, jose, rule);
    }
  }

  return {
    async verify(token, rule) {
      const payload = await payloadOf(token, rule);
      const id = payload[rule.claim];
      if (typeof id !== 'string' || id === '') throw refused(rule, `it has no claim "${rule.claim}"`);
      requirePersonId(id, `the claim "${rule.claim}" of ${rule.name}`);
      return personOf(id, payload);
    },
  };
}

function personOf(id: string, { name, email }: JWTPayload): Person {
  return toPerson(id, typeof name === 'string' ? name : undefined, typeof email === 'string' ? email : undefined);
}

/** Whatever is wrong with the token itself is the client's; anything else means that the key set cannot be had. */
function toRefusal(error: unknown, { errors }: typeof Jose, rule: TokenRule): GatewayError {
  if (error instanceof errors.JWTExpired) return refused(rule, 'it has expired');
  if (error instanceof errors.JWTClaimValidationFailed) return refused(rule, `its claim "${error.claim}" is not what the key demands`);
  const isOfToken = [
    errors.JWSSignatureVerificationFailed,
    errors.JWSInvalid,
    errors.JWTInvalid,
    errors.JOSEAlgNotAllowed,
    errors.JWKSNoMatchingKey,
  ];
  if (isOfToken.some((kind) => error instanceof kind)) return refused(rule, 'its signature is not valid');
  return new GatewayError('identity_unavailable', 'The keys that sign user tokens cannot be read at the moment. Try again later.', {
    retryAfter: '5',
    cause: error,
  });
}

function refused({ name }: TokenRule, why: string): GatewayError {
  return new GatewayError('invalid_user_token', `The user token in ${name} is not valid: ${why}. Sign in again at the frontend.`);
}
