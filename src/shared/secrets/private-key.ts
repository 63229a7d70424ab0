import { createPrivateKey, type KeyObject } from 'node:crypto';
import { isJsonObject, type JsonObject } from '../json/json.ts';
import { parseJson } from '../json/parse-exactly.ts';

/** A key that signs, with what a JWK says besides. */
export interface PrivateKey {
  key: KeyObject;
  kid?: string;
  alg?: string;
}

/** Whether a secret is a private key, in PEM or as a JWK, instead of a password. */
export function isPrivateKey(secret: string): boolean {
  return secret.trimStart().startsWith('-----BEGIN ') || jwkIn(secret) !== undefined;
}

/** Undefined if it cannot be read, or is no private key. */
export function readPrivateKey(secret: string): PrivateKey | undefined {
  const jwk = jwkIn(secret);
  try {
    if (jwk === undefined) return { key: createPrivateKey(secret) };
    const { kid, alg } = jwk;
    const key = createPrivateKey({ key: jwk, format: 'jwk' });
    return { key, ...(typeof kid === 'string' && { kid }), ...(typeof alg === 'string' && { alg }) };
  } catch {
    return undefined;
  }
}

function jwkIn(secret: string): JsonObject | undefined {
  const value = parseJson(secret);
  return isJsonObject(value) && 'kty' in value ? value : undefined;
}
