import type { AuditStore } from '../core/stores/audit-store.ts';
import type { UsageStore } from '../core/stores/usage-store.ts';
import type { WaitingRunStore } from '../core/runs/suspended-run.ts';
import type { NoteStores, NoteStore, NoteKind } from '../core/stores/note-store.ts';
import type { ChatStore } from '../core/stores/chat-store.ts';
import type { GrantStore } from '../core/stores/grant-store.ts';
import type { CredentialStore } from '../core/sign-in/credentials.ts';
import type { OAuthClientStore } from '../core/sign-in/oauth-clients.ts';
import type { Registry } from '../core/stores/registry.ts';
import type { SignInStore } from '../core/stores/sign-in-store.ts';
import type { ThoughtSeals } from '../core/chat/thought.ts';
import type { ResponseStore } from '../core/stores/response-store.ts';
import type { RunStore } from '../core/runs/run-log.ts';
import { createThoughtSeals } from './secrets/seal-thoughts.ts';
import { createAuditStore } from './sql/audit.ts';
import { createChatStore } from './sql/chats.ts';
import { createCredentialStore } from './sql/credentials.ts';
import type { Database } from './sql/database.ts';
import { createGrantStore } from './sql/grants.ts';
import { createNoteStore } from './sql/notes.ts';
import { createOAuthClientStore } from './sql/oauth-clients.ts';
import { createRegistry } from './sql/registry/registry.ts';
import { createResponseStore } from './sql/responses.ts';
import { createRunStore } from './sql/runs.ts';
import { createSignInStore } from './sql/sign-ins.ts';
import { createUsageStore } from './sql/usage.ts';
import { createWaitingRunStore } from './sql/waiting-runs/waiting-runs.ts';
import { inMemory } from './sqlite/connection/open-database.ts';
import { openSqlite } from './sqlite/sqlite-database.ts';

interface StoresOptions {
  /** Encrypts credentials, suspended runs, stored responses, notes about chats, and thoughts that clients return. */
  secret: string;
  /** Milliseconds since 1970. */
  now?: (() => number) | undefined;
  /** See `RegistryOptions`. */
  cacheMs?: number;
  staleMs?: number | undefined;
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
  grants: GrantStore;
  usage: UsageStore;
  audit: AuditStore;
  thoughtSeals: ThoughtSeals;
  /** Shared by all stores; closed with the registry. */
  database: Database;
}

/** All stores of one database. */
export function createStores(database: Database, { secret, now = Date.now, cacheMs = 0, staleMs }: StoresOptions): Stores {
  const createNotes = (kind: NoteKind): NoteStore => createNoteStore(database, secret, kind);
  return {
    registry: createRegistry(database, { secret, now, cacheMs, staleMs }),
    runs: createRunStore(database),
    waitingRuns: createWaitingRunStore(database, secret),
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
    chats: createChatStore(database, { now }),
    responses: createResponseStore(database, { secret, now }),
    credentials: createCredentialStore(database, secret),
    oauthClients: createOAuthClientStore(database, secret),
    signIns: createSignInStore(database, secret),
    grants: createGrantStore(database, { secret, now }),
    usage: createUsageStore(database),
    audit: createAuditStore(database),
    thoughtSeals: createThoughtSeals(secret),
    database,
  };
}

/** Nothing of it outlives the process. */
export function createMemoryStores({ secret, now = Date.now }: Omit<StoresOptions, 'cacheMs'>): Stores {
  return createStores(openSqlite({ file: inMemory, now }), { secret, now });
}
