import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import type { CryptoKey, JWK } from 'jose';
import type { JsonObject } from '../../src/shared/json/json.ts';

export interface TokenParts {
  /** Beside `iss`, `aud`, `sub` and `exp`; null leaves one of these out. */
  claims?: JsonObject;
  /** Seconds from now. */
  expiresIn?: number;
  algorithm?: 'RS256' | 'ES256' | 'PS256' | 'EdDSA';
}

/** An OpenID provider as far as its tokens go: discovery, a key set, and tokens that it signs. */
export interface TokenIssuer {
  url: string;
  /** Paths that were asked for, in order. */
  asked: string[];
  tokenFor(sub: string, parts?: TokenParts): Promise<string>;
  /** From now on tokens are signed with new keys, and the key set has these alone. */
  rotate(): void;
  /** Changes what discovery says. */
  announce(fields: JsonObject): void;
  /** The key set has these keys beside its own. */
  announceKeys(keys: JsonObject[]): void;
  /** Answers 500 to everything until `recover`. */
  fail(): void;
  recover(): void;
  [Symbol.asyncDispose](): Promise<void>;
}

export const audience = 'https://gateway.example';

export async function startTokenIssuer(): Promise<TokenIssuer> {
  const asked: string[] = [];
  let keys = new Map<string, Promise<{ jwk: JWK; privateKey: CryptoKey }>>();
  let generation = 1;
  let announced: JsonObject = {};
  let otherKeys: JsonObject[] = [];
  let isFailing = false;

  function keyOf(algorithm: string): Promise<{ jwk: JWK; privateKey: CryptoKey }> {
    const kid = `${algorithm}-${generation}`;
    const made = keys.get(kid) ?? makeKey(algorithm, kid);
    keys.set(kid, made);
    return made;
  }

  async function answer(path: string): Promise<JsonObject | undefined> {
    if (path === '/.well-known/openid-configuration') return { issuer: url, jwks_uri: `${url}/keys`, ...announced };
    if (path !== '/keys') return undefined;
    return { keys: [...otherKeys, ...(await Promise.all(keys.values())).map(({ jwk }) => jwk as JsonObject)] };
  }

  const server = createServer((request, response) => {
    const path = request.url ?? '';
    asked.push(path);
    void answer(path).then((body) => {
      if (isFailing || body === undefined) return response.writeHead(isFailing ? 500 : 404).end();
      return response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  return {
    url,
    asked,
    async tokenFor(sub, { claims = {}, expiresIn = 300, algorithm = 'ES256' } = {}) {
      const { jwk, privateKey } = await keyOf(algorithm);
      const seconds = Math.floor(Date.now() / 1_000);
      const all = { iss: url, aud: audience, sub, iat: seconds, exp: seconds + expiresIn, ...claims };
      const payload = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null));
      return new SignJWT(payload).setProtectedHeader({ alg: algorithm, kid: String(jwk.kid), typ: 'at+jwt' }).sign(privateKey);
    },
    rotate() {
      keys = new Map();
      generation += 1;
    },
    announce: (fields) => void (announced = fields),
    announceKeys: (added) => void (otherKeys = added),
    fail: () => void (isFailing = true),
    recover: () => void (isFailing = false),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function makeKey(algorithm: string, kid: string): Promise<{ jwk: JWK; privateKey: CryptoKey }> {
  const { publicKey, privateKey } = await generateKeyPair(algorithm, { extractable: true });
  return { jwk: { ...(await exportJWK(publicKey)), kid, alg: algorithm, use: 'sig' }, privateKey };
}
