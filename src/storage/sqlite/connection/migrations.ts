import { basename } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { GatewayError } from '../../../core/errors.ts';

/** "twhf": marks a database of the gateway (SQLite's `application_id`). */
const applicationId = 0x74_77_68_66;

/**
 * The steps from an empty database to the current schema, in order; `user_version` counts the steps that were applied.
 * Never edit a released step, because existing databases have applied it: append a new one.
 */
export const migrations: readonly string[] = [
  `
  CREATE TABLE tool_servers (
    id TEXT NOT NULL PRIMARY KEY,
    position INTEGER NOT NULL,
    record TEXT NOT NULL CHECK (json_valid(record)),
    secrets TEXT NOT NULL CHECK (json_valid(secrets))
  ) STRICT;
  CREATE TABLE keys (
    id TEXT NOT NULL PRIMARY KEY,
    position INTEGER NOT NULL,
    hash TEXT NOT NULL UNIQUE,
    record TEXT NOT NULL CHECK (json_valid(record))
  ) STRICT;
  CREATE TABLE facts (
    name TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
  ) STRICT;
  `,
  `
  CREATE TABLE runs (
    id TEXT NOT NULL PRIMARY KEY,
    caller_id TEXT NOT NULL,
    status TEXT NOT NULL,
    created INTEGER NOT NULL,
    finished INTEGER,
    characters INTEGER NOT NULL,
    summary TEXT NOT NULL,
    events TEXT NOT NULL
  ) STRICT;
  CREATE INDEX runs_by_time ON runs (created, id, characters);
  CREATE INDEX runs_of_caller ON runs (caller_id, created, id);
  `,
  `
  CREATE TABLE waiting_runs (
    id TEXT NOT NULL PRIMARY KEY,
    caller_id TEXT NOT NULL,
    wait_id TEXT NOT NULL,
    expires INTEGER NOT NULL,
    is_open INTEGER NOT NULL,
    characters INTEGER NOT NULL,
    run TEXT NOT NULL
  ) STRICT;
  CREATE TABLE waiting_answers (
    run_id TEXT NOT NULL,
    call_id TEXT NOT NULL,
    answer TEXT NOT NULL,
    PRIMARY KEY (run_id, call_id)
  ) STRICT;
  `,
  `
  CREATE TABLE chats (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    caller_id TEXT NOT NULL,
    created INTEGER NOT NULL,
    model TEXT NOT NULL,
    characters INTEGER NOT NULL,
    metadata TEXT NOT NULL CHECK (json_valid(metadata)),
    messages TEXT NOT NULL,
    completion TEXT NOT NULL,
    question TEXT NOT NULL,
    answer TEXT NOT NULL
  ) STRICT;
  CREATE INDEX chats_by_time ON chats (created, id, characters);
  CREATE INDEX chats_of_caller ON chats (caller_id, created, id, characters);
  CREATE VIRTUAL TABLE chat_words USING fts5 (
    question, answer, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 0'
  );
  `,
  `
  CREATE TABLE chat_memory (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    caller_id TEXT NOT NULL,
    expires INTEGER NOT NULL,
    characters INTEGER NOT NULL,
    value TEXT NOT NULL,
    UNIQUE (kind, id)
  ) STRICT;
  CREATE INDEX chat_memory_by_age ON chat_memory (kind, position, characters);
  CREATE INDEX chat_memory_by_end ON chat_memory (kind, expires);
  CREATE INDEX chat_memory_of_caller ON chat_memory (caller_id, kind);
  `,
  // Covering indexes: each caller's total is computed without reading the rows, which contain whole runs.
  `
  DROP INDEX runs_of_caller;
  CREATE INDEX runs_of_caller ON runs (caller_id, created, id, finished, characters);
  CREATE INDEX waiting_runs_of_caller ON waiting_runs (caller_id, is_open, expires, id, characters);
  DROP INDEX chat_memory_of_caller;
  CREATE INDEX chat_memory_of_caller ON chat_memory (kind, caller_id, position, characters);
  `,
  // Further parts of a suspended run that is too large for one write.
  `
  ALTER TABLE waiting_runs ADD COLUMN parts_id TEXT NOT NULL DEFAULT '';
  CREATE TABLE waiting_run_parts (
    parts_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    part TEXT NOT NULL,
    PRIMARY KEY (parts_id, position)
  ) STRICT;
  CREATE INDEX waiting_run_parts_by_end ON waiting_run_parts (expires);
  `,
  // A hash of caller and chat, to find the suspended runs of a chat. Runs of earlier releases have none.
  `
  ALTER TABLE waiting_runs ADD COLUMN chat TEXT NOT NULL DEFAULT '';
  CREATE INDEX waiting_runs_of_chat ON waiting_runs (chat, is_open);
  `,
  // `value` is encrypted. `response_items`: the items of outputs, by which later requests may name them.
  `
  CREATE TABLE responses (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    caller_id TEXT NOT NULL,
    created INTEGER NOT NULL,
    used INTEGER NOT NULL,
    previous_id TEXT,
    is_running INTEGER NOT NULL,
    characters INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX responses_by_use ON responses (used);
  CREATE INDEX responses_of_caller ON responses (caller_id, used, position, characters);
  CREATE TABLE response_values (
    position INTEGER PRIMARY KEY REFERENCES responses (position) ON DELETE CASCADE,
    value TEXT NOT NULL
  ) STRICT;
  CREATE TABLE response_items (
    item_id TEXT NOT NULL,
    position INTEGER NOT NULL REFERENCES responses (position) ON DELETE CASCADE,
    PRIMARY KEY (item_id, position)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX response_items_of_response ON response_items (position);
  `,
  // What was used by day, and the people behind keys.
  `
  CREATE TABLE usage (
    day TEXT NOT NULL,
    key_id TEXT NOT NULL,
    person_id TEXT NOT NULL,
    model TEXT NOT NULL,
    tool TEXT NOT NULL,
    requests INTEGER NOT NULL,
    tokens_in INTEGER NOT NULL,
    tokens_out INTEGER NOT NULL,
    tool_calls INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    PRIMARY KEY (day, key_id, person_id, model, tool)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE people (
    key_id TEXT NOT NULL,
    id TEXT NOT NULL,
    name TEXT,
    email TEXT,
    last INTEGER NOT NULL,
    PRIMARY KEY (key_id, id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX people_by_time ON people (last);
  `,
  // What people have entered for tool servers; `value` is encrypted.
  `
  CREATE TABLE credentials (
    caller_id TEXT NOT NULL,
    server_id TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (caller_id, server_id)
  ) STRICT;
  CREATE INDEX credentials_of_server ON credentials (server_id);
  `,
  // Links to sign in at tool servers, and what was begun with them. `id` and `state` are hashes; `value` and `begun` are encrypted.
  `
  CREATE TABLE sign_ins (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    caller_id TEXT NOT NULL,
    server_id TEXT NOT NULL,
    expires INTEGER NOT NULL,
    is_used INTEGER NOT NULL,
    state TEXT UNIQUE,
    state_expires INTEGER,
    characters INTEGER NOT NULL,
    value TEXT NOT NULL,
    begun TEXT
  ) STRICT;
  CREATE INDEX sign_ins_by_end ON sign_ins (expires);
  CREATE INDEX sign_ins_of_caller ON sign_ins (caller_id, position, characters);
  CREATE INDEX sign_ins_of_server ON sign_ins (server_id);
  `,
  // Which version of a credential it is, and until when one process alone refreshes it (milliseconds since 1970).
  `
  ALTER TABLE credentials ADD COLUMN revision TEXT NOT NULL DEFAULT '';
  ALTER TABLE credentials ADD COLUMN leased_until INTEGER;
  `,
  // How the gateway is registered with authorization servers; `value` is encrypted.
  `
  CREATE TABLE oauth_clients (
    issuer TEXT NOT NULL,
    redirect_uri TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (issuer, redirect_uri)
  ) STRICT;
  `,
  // Backends that administrators have added; `secrets` holds ciphertexts.
  `
  CREATE TABLE backends (
    id TEXT NOT NULL PRIMARY KEY,
    position INTEGER NOT NULL,
    record TEXT NOT NULL CHECK (json_valid(record)),
    secrets TEXT NOT NULL CHECK (json_valid(secrets))
  ) STRICT;
  `,
  // What the authorization server for `/mcp` stores. Ids are hashes; `value` is encrypted.
  `
  CREATE TABLE grant_records (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    client_id TEXT NOT NULL,
    caller_id TEXT NOT NULL,
    grant_id TEXT,
    expires INTEGER NOT NULL,
    used INTEGER,
    value TEXT NOT NULL,
    UNIQUE (kind, id)
  ) STRICT;
  CREATE INDEX grant_records_by_end ON grant_records (expires);
  CREATE INDEX grant_records_of_caller ON grant_records (caller_id, kind, position);
  CREATE INDEX grant_records_of_client ON grant_records (client_id, kind);
  CREATE INDEX grant_records_of_grant ON grant_records (grant_id, kind, position);
  `,
];

interface MigrationOptions {
  /** For error messages. */
  file: string;
  steps?: readonly string[];
}

/**
 * Rejects databases that this release must not change, without writing to them.
 * @throws GatewayError `storage_unavailable` for a database of a newer release, and for one of another program.
 */
export function requireKnownSchema(database: DatabaseSync, { file, steps = migrations }: MigrationOptions): void {
  const version = readPragma(database, 'user_version');
  const hasTables = database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() !== undefined;
  if (readPragma(database, 'application_id') !== applicationId && (version > 0 || hasTables)) {
    throw new GatewayError('storage_unavailable', `${basename(file)} is a database of another program. Set DATABASE_URL to another file.`);
  }
  if (version <= steps.length) return;
  throw new GatewayError(
    'storage_unavailable',
    `${basename(file)} was written by a newer release (schema ${version}, this one knows ${steps.length}). Start that release, or restore an older backup.`,
  );
}

/** Applies the missing steps in one transaction. @throws as `requireKnownSchema`; SQLite's error 5 (SQLITE_BUSY) while another process migrates. */
export function migrate(database: DatabaseSync, options: MigrationOptions): void {
  const { steps = migrations } = options;
  if (readPragma(database, 'user_version') === steps.length) return;
  database.exec('BEGIN IMMEDIATE');
  try {
    // Check again under the lock: another process may have migrated in between.
    requireKnownSchema(database, options);
    for (const step of steps.slice(readPragma(database, 'user_version'))) database.exec(step);
    database.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${steps.length}; COMMIT`);
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

/** An integer PRAGMA. */
export function readPragma(
  database: DatabaseSync,
  name: 'user_version' | 'application_id' | 'data_version' | 'page_size' | 'page_count' | 'max_page_count' | 'freelist_count',
): number {
  return Number(database.prepare(`PRAGMA ${name}`).get()?.[name]);
}
