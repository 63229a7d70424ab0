import type { Logins } from '../../core/sign-in/login.ts';
import type { OidcCallers } from '../../core/callers/oidc.ts';
import type { SendOutbound } from '../../core/outbound.ts';
import { createLogins } from '../../policy/logins.ts';
import { createSecretCipher } from '../../storage/secrets/encrypt-secrets.ts';
import { createOpenIdClient } from '../../tools/credentials/oauth/openid-client.ts';
import type { AppContext } from '../app-context.ts';
import type { Storage } from './compose-storage.ts';

/** Signing in to the console; undefined unless `auth.oidc` names a client. */
export function composeLogins(
  { config, now, newId }: AppContext,
  { storage, callers, send }: { storage: Storage; callers: OidcCallers | undefined; send: SendOutbound },
): Logins | undefined {
  const { issuer, audience, client } = config.oidc ?? {};
  if (issuer === undefined || audience === undefined || client === undefined || callers === undefined) return undefined;
  const cipher = createSecretCipher(config.secret ?? newId(), 'login');
  return createLogins({
    issuer,
    audience,
    client: createOpenIdClient({ issuer, audience, client, send, now }),
    callers,
    store: storage.noteStores.login,
    cipher: {
      encrypt: (text, id) => cipher.encrypt(text, { id, field: 'pending' }),
      decrypt: (encrypted, id) => cipher.decrypt(encrypted, { id, field: 'pending' }),
    },
    now,
  });
}
