import type { OAuthClientStore, RegisteredClient, RegistrationKey } from '../../core/sign-in/oauth-clients.ts';
import { createSecretCipher, type SecretCipher } from '../secrets/encrypt-secrets.ts';
import { execute, selectFirst, type Database, type Script } from './database.ts';

/** Registrations with authorization servers: far more than an operator connects to. Beyond it the oldest is forgotten, and made again when needed. */
export const oauthClients = 1_000;

/** Registrations with authorization servers, encrypted one by one and bound to issuer and redirect address. */
export function createOAuthClientStore(database: Database, secret: string): OAuthClientStore {
  const cipher = createSecretCipher(secret, 'oauth_client');

  return {
    find: (place) => database.read(() => read(cipher, place)),

    findOrAdd(place, client) {
      const value = cipher.encrypt(JSON.stringify(client), fieldOf(place));
      return database.write('oauth_clients', () => findOrAdd(cipher, place, { client, value }));
    },

    delete: (place, clientId) => database.write('oauth_clients', () => remove(cipher, place, clientId)),
  };
}

function* read(cipher: SecretCipher, place: RegistrationKey): Script<RegisteredClient | undefined> {
  const sql = 'SELECT value FROM oauth_clients WHERE issuer = ? AND redirect_uri = ?';
  const row = yield* selectFirst<{ value: string }>(sql, place.issuer, place.redirectUri);
  const text = row && cipher.decrypt(row.value, fieldOf(place));
  return text === undefined ? undefined : (JSON.parse(text) as RegisteredClient);
}

function* findOrAdd(
  cipher: SecretCipher,
  place: RegistrationKey,
  { client, value }: { client: RegisteredClient; value: string },
): Script<RegisteredClient> {
  const first = yield* read(cipher, place);
  if (first !== undefined) return first;
  const { issuer, redirectUri } = place;
  // One that was encrypted with another secret.
  yield* execute(deleteSql, issuer, redirectUri);
  yield* execute(insert, issuer, redirectUri, value);
  yield* execute('DELETE FROM oauth_clients WHERE position <= (SELECT max(position) FROM oauth_clients) - ?', oauthClients);
  return client;
}

function* remove(cipher: SecretCipher, place: RegistrationKey, clientId: string): Script<void> {
  if ((yield* read(cipher, place))?.id === clientId) yield* execute(deleteSql, place.issuer, place.redirectUri);
}

const deleteSql = 'DELETE FROM oauth_clients WHERE issuer = ? AND redirect_uri = ?';

const insert = `INSERT INTO oauth_clients (issuer, redirect_uri, value, position)
  SELECT ?, ?, ?, coalesce(max(position), 0) + 1 FROM oauth_clients`;

function fieldOf({ issuer, redirectUri }: RegistrationKey): { id: string; field: string } {
  return { id: issuer, field: redirectUri };
}
