import type { UsageStore } from '../core/stores/usage-store.ts';
import type { WaitingRunStore } from '../core/runs/suspended-run.ts';
import type { NoteStores, NoteStore, NoteKind } from '../core/stores/note-store.ts';
import type { ChatStore } from '../core/stores/chat-store.ts';
import type { CredentialStore } from '../core/sign-in/credentials.ts';
import type { OAuthClientStore } from '../core/sign-in/oauth-clients.ts';
import type { Registry } from '../core/stores/registry.ts';
import type { SignInStore } from '../core/stores/sign-in-store.ts';
import type { ThoughtSeals } from '../core/chat/thought.ts';
import type { ResponseStore } from '../core/stores/response-store.ts';
import type { RunStore } from '../core/runs/run-log.ts';
import { createDatabaseConnection, type ConnectionOptions, type DatabaseConnection } from './sqlite/connection/database-connection.ts';
import { createSqliteNotes } from './sqlite/sqlite-notes.ts';
import { createSqliteChats } from './sqlite/sqlite-chats.ts';
import { createSqliteCredentials } from './sqlite/sqlite-credentials.ts';
import { createSqliteOAuthClients } from './sqlite/sqlite-oauth-clients.ts';
import { createSqliteRegistry } from './sqlite/registry/sqlite-registry.ts';
import { createSqliteResponses } from './sqlite/sqlite-responses.ts';
import { createSqliteRuns } from './sqlite/sqlite-runs.ts';
import { createSqliteSignIns } from './sqlite/sqlite-sign-ins.ts';
import { createSqliteUsage } from './sqlite/sqlite-usage.ts';
import { createThoughtSeals } from './secrets/seal-thoughts.ts';
import { createSqliteWaitingRuns } from './sqlite/waiting-runs/sqlite-waiting-runs.ts';

interface StoresOptions extends Omit<ConnectionOptions, 'now'> {
  /** Encrypts credentials, suspended runs, stored responses, notes about chats, and thoughts that clients return. */
  secret: string;
  /** Milliseconds since 1970. */
  now?: () => number;
  /** See `SqliteRegistryOptions`. */
  cacheMs?: number;
}

export interface Stores {
  registry: Registry;
  runs: RunStore;
  waitingRuns: WaitingRunStore;
  noteStores: NoteStores;
  chats: ChatStore;
  responses: ResponseStore;
  credentials: CredentialStore;
  oauthClients: OAuthClientStore;
  signIns: SignInStore;
  usage: UsageStore;
  thoughtSeals: ThoughtSeals;
  /** Shared by all stores; closed with the registry. */
  connection: DatabaseConnection;
}

/** Creates all stores on one database connection, which is opened on first use. With the file `:memory:`, nothing outlives the process. */
export function openStores({ secret, now = Date.now, cacheMs = 0, ...database }: StoresOptions): Stores {
  const connection = createDatabaseConnection({ ...database, now });
  const createNotes = (kind: NoteKind): NoteStore => createSqliteNotes(connection, secret, kind);
  return {
    registry: createSqliteRegistry(connection, { secret, now, cacheMs }),
    runs: createSqliteRuns(connection),
    waitingRuns: createSqliteWaitingRuns(connection, secret),
    noteStores: {
      approval: createNotes('approval'),
      state: createNotes('state'),
      config: createNotes('config'),
      continuation: createNotes('continuation'),
      prompt: createNotes('prompt'),
      transcript: createNotes('transcript'),
      conversation: createNotes('conversation'),
      login: createNotes('login'),
      'console-chat': createNotes('console-chat'),
    },
    chats: createSqliteChats(connection, { now }),
    responses: createSqliteResponses(connection, { secret, now }),
    credentials: createSqliteCredentials(connection, secret),
    oauthClients: createSqliteOAuthClients(connection, secret),
    signIns: createSqliteSignIns(connection, secret),
    usage: createSqliteUsage(connection),
    thoughtSeals: createThoughtSeals(secret),
    connection,
  };
}
