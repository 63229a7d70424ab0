import { allowInsecureRequests, ClientSecretBasic, ClientSecretPost, customFetch, None } from 'oauth4webapi';
import type { ClientAuth } from 'oauth4webapi';
import type { OAuthClientCredentials } from '../../core/credentials.ts';
import type { OAuthFetch } from './oauth-fetch.ts';

/** What every request of the library gets. */
export interface RequestSettings {
  [customFetch]: OAuthFetch;
  [allowInsecureRequests]: boolean;
}

/** An authorization server needs https, unless the tool server itself has none: its tokens then travel in clear anyhow, as on one machine. */
export function requestSettings(fetch: OAuthFetch, toolServer: string): RequestSettings {
  return { [customFetch]: fetch, [allowInsecureRequests]: toolServer.startsWith('http:') };
}

export function clientAuthOf({ secret = '', method }: OAuthClientCredentials): ClientAuth {
  if (method === 'client_secret_basic') return ClientSecretBasic(secret);
  return method === 'client_secret_post' ? ClientSecretPost(secret) : None();
}
