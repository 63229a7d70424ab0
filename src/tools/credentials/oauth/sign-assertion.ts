import { modifyAssertion, PrivateKeyJwt, type ClientAuth } from 'oauth4webapi';
import { GatewayError } from '../../../core/errors.ts';
import { readPrivateKey, type PrivateKey } from '../../../shared/secrets/private-key.ts';

type KeyAlgorithm = Parameters<typeof crypto.subtle.importKey>[2];

/** OpenSSL's names of the curves of JWA. */
const curves: ReadonlyMap<string | undefined, string> = new Map([
  ['prime256v1', 'P-256'],
  ['secp384r1', 'P-384'],
  ['secp521r1', 'P-521'],
]);

/**
 * Proves who the gateway is with a JWT that its key signs (`private_key_jwt`, RFC 7523). `audience`: the issuer, or the token address of an authorization server
 * that does not say who it is.
 * @throws GatewayError `conflict` for a key that cannot sign
 */
export async function signedBy(secret: string, audience: string): Promise<ClientAuth> {
  const read = readPrivateKey(secret);
  const algorithm = read && algorithmOf(read);
  if (read === undefined || algorithm === undefined)
    throw new GatewayError(
      'conflict',
      'oauth.client_secret is a private key that cannot sign. Set an RSA, EC (P-256, P-384, P-521) or Ed25519 key.',
    );
  const key = await crypto.subtle.importKey('pkcs8', read.key.export({ type: 'pkcs8', format: 'der' }), algorithm, false, ['sign']);
  return PrivateKeyJwt(read.kid === undefined ? key : { key, kid: read.kid }, {
    [modifyAssertion]: (_header, payload) => {
      payload['aud'] = audience;
    },
  });
}

function algorithmOf({ key, alg = 'RS256' }: PrivateKey): KeyAlgorithm | undefined {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key;
  if (type === 'ed25519') return { name: 'Ed25519' };
  const namedCurve = curves.get(details?.namedCurve);
  if (type === 'ec') return namedCurve === undefined ? undefined : { name: 'ECDSA', namedCurve };
  if (type !== 'rsa' || !/^[RP]S(?:256|384|512)$/.test(alg)) return undefined;
  return { name: alg.startsWith('PS') ? 'RSA-PSS' : 'RSASSA-PKCS1-v1_5', hash: `SHA-${alg.slice(2)}` };
}
