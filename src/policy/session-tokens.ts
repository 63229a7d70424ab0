import { createPrivateKey, createPublicKey, scrypt, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import type * as Jose from 'jose';
import type { JWK } from 'jose';
import type { OutboundRequest, OutboundResponse, SendOutbound } from '../core/outbound.ts';

/** RFC 8037: signatures with Ed25519 are `EdDSA` in JOSE. */
const algorithm = 'EdDSA';
const lifetimeSeconds = 300;
/** Distinguishes this key from others that are derived from the same secret. */
const keyLabel = 'toolwharf session tokens v1';
/**
 * The public key allows offline guessing of the secret. Each guess costs 32 MiB and 100 ms, to protect secrets chosen by humans (RFC 7914, section 2).
 */
const keyCost = { N: 2 ** 15, r: 8, p: 1, maxmem: 64 * 1024 * 1024 };
const derive = promisify<string, string, number, typeof keyCost, Buffer>(scrypt);
/** RFC 8410, section 7: PKCS #8 of an Ed25519 key, up to the 32 bytes of its seed. */
const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex');

/** Tokens that tell a tool server (`auth_type: "session"`) on whose behalf it is called. */
interface SessionTokens {
  /** A JWT for one user and one server, valid for five minutes. `audience`: the server's origin. */
  issue(audience: string, userId: string): Promise<string>;
  /** The public key, for `GET /.well-known/jwks.json` (RFC 7517). */
  keySet(): Promise<{ keys: JWK[] }>;
}

interface SessionTokenOptions {
  /** The key pair is derived from it, so that it is the same after a restart and in every process with this secret. */
  secret: string;
  /** The gateway's public URL; called for each token, because the port may be known only once it listens. */
  issuer: () => string;
  /** Milliseconds since 1970. */
  now: () => number;
}

export function createSessionTokens({ secret, issuer, now }: SessionTokenOptions): SessionTokens {
  let keys: Promise<{ privateKey: KeyObject; publicKey: JWK & { kid: string } }> | undefined;

  async function makeKeys(): Promise<{ privateKey: KeyObject; publicKey: JWK & { kid: string } }> {
    const seed = await derive(secret, keyLabel, 32, keyCost);
    const privateKey = createPrivateKey({ key: Buffer.concat([pkcs8Prefix, seed]), format: 'der', type: 'pkcs8' });
    const { kty, crv, x } = createPublicKey(privateKey).export({ format: 'jwk' });
    const publicKey = { kty, crv, x } as JWK;
    const { calculateJwkThumbprint } = await loadJose();
    return { privateKey, publicKey: { ...publicKey, kid: await calculateJwkThumbprint(publicKey), use: 'sig', alg: algorithm } };
  }

  return {
    async issue(audience, userId) {
      const { privateKey, publicKey } = await (keys ??= makeKeys());
      const { SignJWT } = await loadJose();
      const seconds = Math.floor(now() / 1_000);
      return new SignJWT()
        .setProtectedHeader({ alg: algorithm, typ: 'JWT', kid: publicKey.kid })
        .setIssuer(issuer())
        .setAudience(audience)
        .setSubject(userId)
        .setIssuedAt(seconds)
        .setExpirationTime(seconds + lifetimeSeconds)
        .sign(privateKey);
    },
    async keySet() {
      const { publicKey } = await (keys ??= makeKeys());
      return { keys: [publicKey] };
    },
  };
}

/** Loaded on demand: it has fifty modules, and few gateways use session tokens. */
function loadJose(): Promise<typeof Jose> {
  return import('jose');
}

/** Adds session tokens to `send`: a request with `sessionUser` carries that user's token, whose audience is the origin of the request's URL. */
export function withSessionTokens(send: SendOutbound, tokens: SessionTokens): SendOutbound {
  async function sendFor(sessionUser: string, request: OutboundRequest): Promise<OutboundResponse> {
    const authorization = `Bearer ${await tokens.issue(new URL(request.url).origin, sessionUser)}`;
    return send({ ...request, sessionUser: undefined, headers: { ...withoutAuthorization(request.headers), authorization } });
  }
  return (request) => (request.sessionUser === undefined ? send(request) : sendFor(request.sessionUser, request));
}

function withoutAuthorization(headers: Record<string, string> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'authorization'));
}
