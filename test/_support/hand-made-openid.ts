import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import type { JWK } from 'jose';
import type { JsonObject } from '../../src/shared/json/json.ts';
import { metadataOf } from './hand-made-authorization.ts';
import { serveFetch } from './protected-servers.ts';

/** What differs from how it should be, each given the usual. */
export interface OpenIdFaults {
  metadata?: JsonObject;
  /** Claims of the ID token; null leaves one out. */
  idToken?: JsonObject;
  /** Claims of the access token. */
  accessToken?: JsonObject;
  /** Instead of a signed access token. */
  opaqueToken?: string;
  /** The answer of the token endpoint to a form. */
  token?: (usual: JsonObject, form: Record<string, string>) => JsonObject | Promise<JsonObject>;
  /** The way back to the gateway. */
  answer?: (back: URLSearchParams) => void;
}

/** An OpenID provider made by hand, where real ones would not make such mistakes. Everybody is `ada`. */
export interface HandMadeOpenId {
  issuer: string;
  /** Forms that came to `/token` and `/revoke`. */
  asked: Record<string, string>[];
  /** What `/authorize` was asked. */
  authorizations: Record<string, string>[];
}

export const openIdClient = { id: 'console', secret: 'CANARY-secret-of-the-console' };

export async function handMadeOpenId(audience: string, faults: OpenIdFaults = {}): Promise<HandMadeOpenId> {
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
  const key: JWK = { ...(await exportJWK(publicKey)), kid: 'key', alg: 'ES256', use: 'sig' };
  const provider: HandMadeOpenId = { issuer: '', asked: [], authorizations: [] };
  /** By code. */
  const nonces = new Map<string, string>();

  async function sign(claims: JsonObject, type: string): Promise<string> {
    const seconds = Math.floor(Date.now() / 1_000);
    const all = { iss: provider.issuer, sub: 'ada', iat: seconds, exp: seconds + 300, ...claims };
    const payload = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null));
    return new SignJWT(payload).setProtectedHeader({ alg: 'ES256', kid: 'key', typ: type }).sign(privateKey);
  }

  async function tokens(form: Record<string, string>): Promise<JsonObject> {
    const nonce = nonces.get(form['code'] ?? '') ?? null;
    const usual = {
      access_token: faults.opaqueToken ?? (await sign({ aud: audience, ...faults.accessToken }, 'at+jwt')),
      id_token: await sign({ aud: openIdClient.id, nonce, name: 'Ada', email: 'ada@example.org', ...faults.idToken }, 'JWT'),
      refresh_token: 'CANARY-refresh',
      token_type: 'Bearer',
      expires_in: 300,
    };
    return faults.token?.(usual, form) ?? usual;
  }

  provider.issuer = await serveFetch(async (request) => {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === '/.well-known/openid-configuration')
      return Response.json({
        ...metadataOf(provider.issuer),
        jwks_uri: `${provider.issuer}/keys`,
        id_token_signing_alg_values_supported: ['ES256'],
        ...faults.metadata,
      });
    if (pathname === '/keys') return Response.json({ keys: [key] });
    if (pathname === '/authorize') {
      const params = Object.fromEntries(searchParams);
      provider.authorizations.push(params);
      const code = `CANARY-code-${provider.authorizations.length}`;
      nonces.set(code, params['nonce'] ?? '');
      const back = new URL(params['redirect_uri'] ?? '');
      const answer = new URLSearchParams({ code, state: params['state'] ?? '', iss: provider.issuer });
      faults.answer?.(answer);
      back.search = answer.toString();
      return new Response(null, { status: 302, headers: { location: back.href } });
    }
    const form = Object.fromEntries(new URLSearchParams(await request.text()));
    provider.asked.push({ path: pathname, ...form });
    if (pathname === '/token') return Response.json(await tokens(form));
    return new Response(null, { status: pathname === '/revoke' ? 200 : 404 });
  });
  return provider;
}
