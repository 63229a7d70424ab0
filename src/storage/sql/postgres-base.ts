/** Ids and times are compared as JavaScript does: bytes of UTF-8, and integers of milliseconds. */
export const postgresBase = `
  CREATE TABLE tool_servers (
    id text COLLATE "C" PRIMARY KEY,
    position bigint NOT NULL,
    record text NOT NULL,
    secrets text NOT NULL
  );
  CREATE TABLE backends (
    id text COLLATE "C" PRIMARY KEY,
    position bigint NOT NULL,
    record text NOT NULL,
    secrets text NOT NULL
  );
  CREATE TABLE keys (
    id text COLLATE "C" PRIMARY KEY,
    position bigint NOT NULL,
    hash text COLLATE "C" NOT NULL UNIQUE,
    record text NOT NULL
  );
  CREATE TABLE presets (
    id text COLLATE "C" PRIMARY KEY,
    position bigint NOT NULL,
    record text NOT NULL
  );
  CREATE TABLE facts (
    name text COLLATE "C" PRIMARY KEY,
    value text NOT NULL
  );
  -- Which records of the tables above have changed, for the other replicas. Written in the same transaction, one at a time, so that numbers commit in order.
  CREATE TABLE changes (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    table_name text NOT NULL,
    id text,
    time bigint NOT NULL
  );
  CREATE TABLE replicas (
    id text COLLATE "C" PRIMARY KEY,
    started bigint NOT NULL,
    seen bigint NOT NULL,
    version text NOT NULL
  );
  CREATE TABLE ended_owners (
    owner_id text COLLATE "C" PRIMARY KEY,
    time bigint NOT NULL
  );

  CREATE TABLE runs (
    id text COLLATE "C" PRIMARY KEY,
    caller_id text COLLATE "C" NOT NULL,
    status text NOT NULL,
    created bigint NOT NULL,
    finished bigint,
    characters bigint NOT NULL,
    summary text NOT NULL,
    events text NOT NULL,
    replica text COLLATE "C" NOT NULL DEFAULT ''
  );
  CREATE INDEX runs_by_time ON runs (created, id, characters);
  CREATE INDEX runs_of_caller ON runs (caller_id, created, id, finished, characters);
  CREATE INDEX runs_unfinished ON runs (id) WHERE status IN ('running', 'waiting');

  CREATE TABLE waiting_runs (
    id text COLLATE "C" PRIMARY KEY,
    caller_id text COLLATE "C" NOT NULL,
    wait_id text NOT NULL,
    expires bigint NOT NULL,
    is_open integer NOT NULL,
    characters bigint NOT NULL,
    run text NOT NULL,
    parts_id text NOT NULL DEFAULT '',
    chat text NOT NULL DEFAULT ''
  );
  CREATE INDEX waiting_runs_of_caller ON waiting_runs (caller_id, is_open, expires, id, characters);
  CREATE INDEX waiting_runs_of_chat ON waiting_runs (chat, is_open);
  CREATE TABLE waiting_run_parts (
    parts_id text NOT NULL,
    position bigint NOT NULL,
    expires bigint NOT NULL,
    part text NOT NULL,
    PRIMARY KEY (parts_id, position)
  );
  CREATE INDEX waiting_run_parts_by_end ON waiting_run_parts (expires);
  CREATE TABLE waiting_answers (
    run_id text COLLATE "C" NOT NULL,
    call_id text NOT NULL,
    answer text NOT NULL,
    PRIMARY KEY (run_id, call_id)
  );

  CREATE TABLE chats (
    position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    caller_id text COLLATE "C" NOT NULL,
    created bigint NOT NULL,
    model text NOT NULL,
    characters bigint NOT NULL,
    metadata text NOT NULL,
    messages text NOT NULL,
    completion text NOT NULL,
    question text NOT NULL,
    answer text NOT NULL
  );
  CREATE INDEX chats_by_time ON chats (created, id, characters);
  CREATE INDEX chats_of_caller ON chats (caller_id, created, id, characters);
  CREATE TABLE chat_words (
    position bigint PRIMARY KEY,
    words tsvector NOT NULL
  );
  CREATE INDEX chat_words_by_word ON chat_words USING gin (words);

  CREATE TABLE chat_memory (
    position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind text NOT NULL,
    id text COLLATE "C" NOT NULL,
    caller_id text COLLATE "C" NOT NULL,
    expires bigint NOT NULL,
    characters bigint NOT NULL,
    value text NOT NULL,
    UNIQUE (kind, id)
  );
  CREATE INDEX chat_memory_by_age ON chat_memory (kind, position, characters);
  CREATE INDEX chat_memory_by_end ON chat_memory (kind, expires);
  CREATE INDEX chat_memory_of_caller ON chat_memory (kind, caller_id, position, characters);

  CREATE TABLE responses (
    position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    caller_id text COLLATE "C" NOT NULL,
    created bigint NOT NULL,
    used bigint NOT NULL,
    previous_id text COLLATE "C",
    is_running integer NOT NULL,
    characters bigint NOT NULL,
    replica text COLLATE "C" NOT NULL DEFAULT ''
  );
  CREATE INDEX responses_by_use ON responses (used);
  CREATE INDEX responses_of_caller ON responses (caller_id, used, position, characters);
  CREATE TABLE response_values (
    position bigint PRIMARY KEY REFERENCES responses (position) ON DELETE CASCADE,
    value text NOT NULL
  );
  CREATE TABLE response_items (
    item_id text COLLATE "C" NOT NULL,
    position bigint NOT NULL REFERENCES responses (position) ON DELETE CASCADE,
    PRIMARY KEY (item_id, position)
  );
  CREATE INDEX response_items_of_response ON response_items (position);

  CREATE TABLE usage (
    day text COLLATE "C" NOT NULL,
    key_id text COLLATE "C" NOT NULL,
    person_id text COLLATE "C" NOT NULL,
    model text COLLATE "C" NOT NULL,
    tool text COLLATE "C" NOT NULL,
    requests bigint NOT NULL,
    tokens_in bigint NOT NULL,
    tokens_out bigint NOT NULL,
    tool_calls bigint NOT NULL,
    failures bigint NOT NULL,
    PRIMARY KEY (day, key_id, person_id, model, tool)
  );
  CREATE TABLE people (
    key_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    name text,
    email text,
    last bigint NOT NULL,
    PRIMARY KEY (key_id, id)
  );
  CREATE INDEX people_by_time ON people (last);

  CREATE TABLE credentials (
    caller_id text COLLATE "C" NOT NULL,
    server_id text COLLATE "C" NOT NULL,
    value text NOT NULL,
    revision text NOT NULL DEFAULT '',
    leased_until bigint,
    PRIMARY KEY (caller_id, server_id)
  );
  CREATE INDEX credentials_of_server ON credentials (server_id);

  CREATE TABLE sign_ins (
    position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    caller_id text COLLATE "C" NOT NULL,
    server_id text COLLATE "C" NOT NULL,
    expires bigint NOT NULL,
    is_used integer NOT NULL,
    state text COLLATE "C" UNIQUE,
    state_expires bigint,
    characters bigint NOT NULL,
    value text NOT NULL,
    begun text
  );
  CREATE INDEX sign_ins_by_end ON sign_ins (expires);
  CREATE INDEX sign_ins_of_caller ON sign_ins (caller_id, position, characters);
  CREATE INDEX sign_ins_of_server ON sign_ins (server_id);

  CREATE TABLE oauth_clients (
    issuer text COLLATE "C" NOT NULL,
    redirect_uri text COLLATE "C" NOT NULL,
    value text NOT NULL,
    position bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (issuer, redirect_uri)
  );
`;
