import { allowInsecureRequests, ClientSecretPost, customFetch, None, type ClientAuth } from 'oauth4webapi';
import type { OAuthClientCredentials } from '../../../core/sign-in/credentials.ts';
import type { OAuthFetch } from './oauth-fetch.ts';
import { isJsonObject } from '../../../shared/json/json.ts';

/** Options for every request of the library. */
export interface RequestSettings {
  [customFetch]: OAuthFetch;
  [allowInsecureRequests]: boolean;
}

/** An authorization server needs https, unless the tool server (or issuer) itself has none: its tokens then travel in clear anyhow, as on one machine. */
export function requestSettings(fetch: OAuthFetch, toolServer: string, { usesIdToken = false } = {}): RequestSettings {
  return {
    [customFetch]: async (url, request) => readableAnswer(await fetch(url, request), { usesIdToken }),
    [allowInsecureRequests]: toolServer.startsWith('http:'),
  };
}

/**
 * The answer of an authorization server as the library reads it. Its error is in the body (RFC 6749, section 5.2), so what would come before that is left
 * out: a challenge, which has to stand beside an unknown client, and a status or type that does not fit. So are fields that are null, and the server's word
 * about who has signed in, where the gateway does not use it and would have to check it.
 */
async function readableAnswer(response: Response, { usesIdToken }: { usesIdToken: boolean }): Promise<Response> {
  response.headers.delete('www-authenticate');
  const json: unknown = await response
    .clone()
    .json()
    .catch(() => undefined);
  if (!isJsonObject(json)) return response;
  const fields = Object.entries(json).filter(([name, value]) => value !== null && (usesIdToken || name !== 'id_token'));
  // GitHub and others give errors as a success.
  const isError = typeof json['error'] === 'string' && json['access_token'] === undefined;
  return Response.json(Object.fromEntries(fields), {
    status: isError && response.status === 200 ? 400 : response.status,
  });
}

export function clientAuthOf({ secret = '', method }: OAuthClientCredentials): ClientAuth {
  if (method === 'client_secret_basic') return inBasic(secret);
  return method === 'client_secret_post' ? ClientSecretPost(secret) : None();
}

/**
 * RFC 6749, section 2.3.1 and appendix B. The library encodes `-`, `.`, `_` and `*` too, of which ids and secrets are full, and which many servers do not
 * decode.
 */
function inBasic(secret: string): ClientAuth {
  return (...[, { client_id: id }, , headers]) =>
    headers.set('authorization', `Basic ${Buffer.from(`${formEncoded(id)}:${formEncoded(secret)}`).toString('base64')}`);
}

function formEncoded(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1);
}
