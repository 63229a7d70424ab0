import type { ClientAuth } from 'oauth4webapi';
import type { OAuthClientCredentials } from '../../../core/sign-in/credentials.ts';
import { isUnknownClient, oauthErrorOf } from './oauth-failure.ts';
import { clientAuthOf } from './request-settings.ts';

interface Tried<Tokens> {
  tokens: Tokens;
  /** As the server knows it. */
  client: OAuthClientCredentials;
}

/**
 * Requests tokens as this client. A server that does not say where it takes secrets is asked with the secret in a header, as RFC 6749 wants it, and if it then
 * does not know the client, once more with the secret in the body: several large providers read it only there.
 */
export async function tryClient<Tokens>(
  { client, isRegistered }: { client: OAuthClientCredentials; isRegistered: boolean },
  request: (auth: ClientAuth) => Promise<Tokens>,
): Promise<Tried<Tokens>> {
  try {
    return { tokens: await request(clientAuthOf(client)), client };
  } catch (error) {
    const code = oauthErrorOf(error);
    // A registration says where the secret goes.
    if (isRegistered || client.method !== 'client_secret_basic' || !(isUnknownClient(code) || code === 'invalid_request')) throw error;
    const inBody: OAuthClientCredentials = { ...client, method: 'client_secret_post' };
    try {
      return { tokens: await request(clientAuthOf(inBody)), client: inBody };
    } catch {
      throw error;
    }
  }
}
