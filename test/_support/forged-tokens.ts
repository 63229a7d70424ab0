import { createHmac, createPublicKey, generateKeyPairSync, sign } from 'node:crypto';
import type { JsonObject } from '../../src/shared/json/json.ts';

/**
 * Tokens with the claims of a good one that nobody who holds the private key has signed: without a signature, with a shared secret that is the public
 * key in one of its spellings, and with a key that the token itself brings along or points to. `jwk`: the public key of the good token.
 */
export function forgedTokens(good: string, jwk: JsonObject): [what: string, token: string][] {
  const [header = '', payload = '', signature = ''] = good.split('.');
  const known = JSON.parse(Buffer.from(header, 'base64url').toString()) as JsonObject;
  const begun = (fields: JsonObject): string => `${Buffer.from(JSON.stringify({ ...known, ...fields })).toString('base64url')}.${payload}`;
  const publicKey = createPublicKey({ key: jwk, format: 'jwk' });
  const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
  const spellings: [string, string | Buffer][] = [
    ['its PEM', pem],
    ['its PEM without the last line break', pem.trimEnd()],
    ['its DER', publicKey.export({ type: 'spki', format: 'der' })],
    ['its JWK', JSON.stringify(jwk)],
    ['its JWK without what is optional', JSON.stringify(publicKey.export({ format: 'jwk' }))],
    ['its number', Buffer.from(String(jwk['n'] ?? jwk['x']), 'base64url')],
    ['nothing', ''],
  ];
  const shared = spellings.flatMap(([what, secret]) =>
    ['HS256', 'HS384', 'HS512'].map((alg): [string, string] => {
      const text = begun({ alg });
      return [`${alg} with ${what}`, `${text}.${createHmac(alg.replace('HS', 'sha'), secret).update(text).digest('base64url')}`];
    }),
  );
  const unsigned = ['none', 'None', 'NONE', 'nOnE', ''].flatMap((alg): [string, string][] => [
    [`alg "${alg}" without a signature`, `${begun({ alg })}.`],
    [`alg "${alg}" with the good signature`, `${begun({ alg })}.${signature}`],
  ]);
  const own = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const signed = (fields: JsonObject): string => {
    const text = begun({ alg: 'ES256', ...fields });
    return `${text}.${sign('sha256', Buffer.from(text), { key: own.privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`;
  };
  const ofOwnKey: [string, JsonObject][] = [
    ['a key of its own', { jwk: own.publicKey.export({ format: 'jwk' }) as JsonObject }],
    ['an address of its own key set', { jku: 'https://attacker.test/keys' }],
    ['an address of its own certificate', { x5u: 'https://attacker.test/certificate' }],
    ['a kid that is a path', { kid: '../../../dev/null' }],
    ['a kid that every object has', { kid: '__proto__' }],
    ['a critical header that nobody knows', { crit: ['rights'], rights: 'all' }],
    ['a payload that is not encoded', { b64: false, crit: ['b64'] }],
  ];
  const forged = ofOwnKey.map(([what, fields]): [string, string] => [what, signed(fields)]);
  return [...shared, ...unsigned, ...forged, ['no signature', `${header}.${payload}.`]];
}
