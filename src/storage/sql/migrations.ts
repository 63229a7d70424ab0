import { postgresBase } from './postgres-base.ts';

/** One change of the schema, in the words of both databases. Empty: nothing changes there. */
export interface SchemaStep {
  sqlite: string;
  postgres: string;
}

/** From the time when there was SQLite alone; `postgresBase` is what they amount to. */
const sqliteSteps: readonly string[] = [
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
];

/**
 * The steps from an empty database to the current schema, in order. A database knows how many were applied.
 * Never edit a released step, because existing databases have applied it: append a new one. While replicas are upgraded one after the other, the
 * release before works on the new schema: a step adds, and what nobody uses any more goes a release later.
 */
export const schemaSteps: readonly SchemaStep[] = [
  ...sqliteSteps.map((sqlite) => ({ sqlite, postgres: '' })),
  // Presets were one fact. Which replica writes a run or a response, and which of its segments: those that are not alive write no more.
  {
    sqlite: `
  CREATE TABLE presets (
    id TEXT NOT NULL PRIMARY KEY,
    position INTEGER NOT NULL,
    record TEXT NOT NULL
  ) STRICT;
  INSERT OR IGNORE INTO presets (id, position, record)
    SELECT json_extract(entry.value, '$.id'), entry.key, entry.value FROM facts, json_each(facts.value) AS entry
    WHERE facts.name = 'presets' AND json_valid(facts.value);
  DELETE FROM facts WHERE name = 'presets' AND json_valid(value);
  CREATE TABLE replicas (
    id TEXT NOT NULL PRIMARY KEY,
    started INTEGER NOT NULL,
    seen INTEGER NOT NULL,
    version TEXT NOT NULL
  ) STRICT;
  ALTER TABLE runs ADD COLUMN replica TEXT NOT NULL DEFAULT '';
  ALTER TABLE responses ADD COLUMN replica TEXT NOT NULL DEFAULT '';
  ALTER TABLE oauth_clients ADD COLUMN position INTEGER NOT NULL DEFAULT 0;
  UPDATE oauth_clients SET position = rowid;
  CREATE TABLE ended_owners (
    owner_id TEXT NOT NULL PRIMARY KEY,
    time INTEGER NOT NULL
  ) STRICT;
  `,
    postgres: postgresBase,
  },
  // Who changed and decided what; `person_id` and `owner_person` are deleted with the person.
  {
    sqlite: `
  CREATE TABLE audit (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    time INTEGER NOT NULL,
    key_id TEXT NOT NULL,
    person_id TEXT,
    action TEXT NOT NULL,
    subject TEXT,
    owner_key TEXT,
    owner_person TEXT,
    detail TEXT
  ) STRICT;
  CREATE INDEX audit_by_key ON audit (key_id, number);
  CREATE INDEX audit_by_time ON audit (time);
  CREATE INDEX audit_by_owner ON audit (owner_key) WHERE owner_person IS NOT NULL;
  `,
    postgres: `
  CREATE TABLE audit (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    time bigint NOT NULL,
    key_id text COLLATE "C" NOT NULL,
    person_id text COLLATE "C",
    action text NOT NULL,
    subject text,
    owner_key text COLLATE "C",
    owner_person text COLLATE "C",
    detail text
  );
  CREATE INDEX audit_by_key ON audit (key_id, number);
  CREATE INDEX audit_by_time ON audit (time);
  CREATE INDEX audit_by_owner ON audit (owner_key) WHERE owner_person IS NOT NULL;
  `,
  },
  // What the authorization server for `/mcp` stores. Ids are hashes; `value` is encrypted.
  {
    sqlite: `
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
    postgres: `
  CREATE TABLE grant_records (
    position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    client_id text COLLATE "C" NOT NULL,
    caller_id text COLLATE "C" NOT NULL,
    grant_id text COLLATE "C",
    expires bigint NOT NULL,
    used bigint,
    value text NOT NULL,
    UNIQUE (kind, id)
  );
  CREATE INDEX grant_records_by_end ON grant_records (expires);
  CREATE INDEX grant_records_of_caller ON grant_records (caller_id, kind, position);
  CREATE INDEX grant_records_of_client ON grant_records (client_id, kind);
  CREATE INDEX grant_records_of_grant ON grant_records (grant_id, kind, position);
  `,
  },
];
