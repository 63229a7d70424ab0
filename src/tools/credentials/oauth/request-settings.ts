import { allowInsecureRequests, ClientSecretPost, customFetch, None, type ClientAuth } from 'oauth4webapi';
import type { OAuthClientCredentials } from '../../../core/sign-in/credentials.ts';
import type { OAuthFetch } from './oauth-fetch.ts';
import { readableAnswer } from './readable-answer.ts';

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
