import { revocationRequest, type AuthorizationServer } from 'oauth4webapi';
import type { Credential, CredentialStore, OAuthClientCredentials, OAuthCredential } from '../../../core/sign-in/credentials.ts';
import { limits } from '../../../core/limits.ts';
import type { SendOutbound } from '../../../core/outbound.ts';
import { waitAtMost } from '../../../shared/async/wait-for.ts';
import { createOAuthFetch } from './oauth-fetch.ts';
import { clientAuthOf, requestSettings, type RequestSettings } from './request-settings.ts';

/** Requests at the same time, so that deleting a server with thousands of people floods nobody. */
const atOnce = 8;

/** Wraps the store: what is deleted is revoked too, where its authorization server offers that (RFC 7009). Deleting succeeds whatever becomes of it. */
export function withRevocation(store: CredentialStore, send: SendOutbound): CredentialStore {
  const revokeBehind = (deleted: Credential[]): Credential[] => {
    void revokeTokens(send, deleted);
    return deleted;
  };
  return {
    ...store,
    async delete(callerId, server) {
      const deleted = await store.delete(callerId, server);
      if (deleted !== undefined) await revokeTokens(send, [deleted]);
      return deleted;
    },
    deleteAllOf: async (callerId) => revokeBehind(await store.deleteAllOf(callerId)),
    deleteOfServers: async (servers) => revokeBehind(await store.deleteOfServers(servers)),
  };
}

/** Revokes as many as succeed within `limits.oauthRevocationMs`. Never rejects. */
export async function revokeTokens(send: SendOutbound, credentials: readonly Credential[]): Promise<void> {
  const left = credentials.values();
  let isOver = false;
  async function work(): Promise<void> {
    for (const credential of left) {
      if (isOver) return;
      if (credential.kind === 'oauth') await revoke(send, credential).catch(() => undefined);
    }
  }
  const workers = Array.from({ length: Math.min(atOnce, credentials.length) }, work);
  await waitAtMost(limits.oauthRevocationMs, Promise.all(workers), () => undefined);
  isOver = true;
}

async function revoke(send: SendOutbound, credential: OAuthCredential): Promise<void> {
  const { client, binding, revocationEndpoint } = credential;
  const server = { issuer: binding.issuer, revocation_endpoint: revocationEndpoint };
  await revokeAt(server, { client, settings: requestSettings(createOAuthFetch(send, binding), binding.origin) }, credential);
}

/** Does nothing where the server offers no revocation. */
export async function revokeAt(
  server: Pick<AuthorizationServer, 'issuer'> & { revocation_endpoint?: string | undefined },
  { client, settings }: { client: OAuthClientCredentials; settings: RequestSettings },
  { refreshToken, accessToken }: Pick<OAuthCredential, 'accessToken' | 'refreshToken'>,
): Promise<void> {
  const { issuer, revocation_endpoint: endpoint } = server;
  if (endpoint === undefined) return;
  // The refresh token first, with which servers revoke the whole sign-in.
  const tokens = [...(refreshToken === undefined ? [] : [['refresh_token', refreshToken]]), ['access_token', accessToken]] as const;
  for (const [hint = '', token = ''] of tokens) {
    const options = { ...settings, additionalParameters: { token_type_hint: hint } };
    // Each by itself: some servers revoke only one kind (RFC 7009, section 2.2.1).
    await revocationRequest(
      { issuer, revocation_endpoint: endpoint },
      { client_id: client.id },
      clientAuthOf(client),
      token,
      options,
    ).catch(() => undefined);
  }
}
