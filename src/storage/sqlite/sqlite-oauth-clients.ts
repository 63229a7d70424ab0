import type { DatabaseSync } from 'node:sqlite';
import type { OAuthClientStore, RegisteredClient, RegistrationKey } from '../../core/sign-in/oauth-clients.ts';
import { createSecretCipher } from '../secrets/encrypt-secrets.ts';
import type { DatabaseConnection } from './connection/database-connection.ts';
import { execute, selectFirst } from './connection/select.ts';

/** Registrations with authorization servers: far more than an operator connects to. Beyond it the oldest is forgotten, and made again when needed. */
export const oauthClients = 1_000;

/** Registrations with authorization servers, encrypted one by one and bound to issuer and redirect address, on the registry's connection. */
export function createSqliteOAuthClients(connection: DatabaseConnection, secret: string): OAuthClientStore {
  const cipher = createSecretCipher(secret, 'oauth_client');

  function read(database: DatabaseSync, place: RegistrationKey): RegisteredClient | undefined {
    const sql = 'SELECT value FROM oauth_clients WHERE issuer = ? AND redirect_uri = ?';
    const row = selectFirst<{ value: string }>(database, sql, place.issuer, place.redirectUri);
    const text = row && cipher.decrypt(row.value, fieldOf(place));
    return text === undefined ? undefined : (JSON.parse(text) as RegisteredClient);
  }

  return {
    find: (place) => connection.read((database) => read(database, place)),

    findOrAdd(place, client) {
      const value = cipher.encrypt(JSON.stringify(client), fieldOf(place));
      return connection.write((database) => {
        const first = read(database, place);
        if (first !== undefined) return first;
        const { issuer, redirectUri } = place;
        execute(database, 'REPLACE INTO oauth_clients (issuer, redirect_uri, value) VALUES (?, ?, ?)', issuer, redirectUri, value);
        execute(database, 'DELETE FROM oauth_clients WHERE rowid <= (SELECT max(rowid) FROM oauth_clients) - ?', oauthClients);
        return client;
      });
    },

    async delete(place, clientId) {
      await connection.write((database) => {
        if (read(database, place)?.id !== clientId) return;
        execute(database, 'DELETE FROM oauth_clients WHERE issuer = ? AND redirect_uri = ?', place.issuer, place.redirectUri);
      });
    },
  };
}

function fieldOf({ issuer, redirectUri }: RegistrationKey): { id: string; field: string } {
  return { id: issuer, field: redirectUri };
}
