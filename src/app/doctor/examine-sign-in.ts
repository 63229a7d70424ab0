import type { Finding } from '../../core/finding.ts';
import type { SendOutbound } from '../../core/outbound.ts';
import { loginRedirectPath } from '../../policy/logins.ts';
import { createOpenIdClient } from '../../tools/credentials/oauth/openid-client.ts';
import type { Config } from '../config/config.ts';
import { localUrl } from '../config/local-url.ts';
import { broken, ok, warning } from './finding.ts';

/** Prepares a sign-in to the console as the gateway will, without anybody signing in. */
export async function examineSignIn(config: Config, send: SendOutbound): Promise<Finding[]> {
  const { oidc, publicUrl } = config;
  if (oidc?.client === undefined) return [];
  const { issuer, audience, client } = oidc;
  const redirectUri = `${publicUrl ?? localUrl(config)}${loginRedirectPath}`;
  const openId = createOpenIdClient({ issuer, audience, client, send, now: Date.now });
  try {
    await openId.begin({ redirectUri, state: 'state', nonce: 'nonce', wantsOtherAccount: false });
  } catch (error) {
    return [
      broken(
        `Nobody can sign in to the console: ${error instanceof Error ? error.message : String(error)}`,
        'Fix it at the provider, or unset OIDC_CLIENT_ID.',
      ),
    ];
  }
  const known = `People can sign in to the console as the client "${client.id}", if ${redirectUri} is its redirect address at the provider`;
  if (publicUrl !== undefined) return [ok(known)];
  return [warning(`${known}; only on this machine`, 'Set PUBLIC_URL to the address at which people reach the gateway.')];
}
