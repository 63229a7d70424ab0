import type { JsonObject } from './json.ts';

/** Where an entry comes from. Only `database` entries can be changed through the API. */
export type Origin = 'environment' | 'file' | 'bundled' | 'database';

export type ToolServerAuth = 'none' | 'bearer' | 'basic' | 'header' | 'query' | 'session';

/** A registered tool server. Secrets (`key`, `headers`) stay inside: no endpoint and no log returns them. */
export interface ToolServerRecord {
  /** `[a-z0-9_-]{1,64}`. */
  id: string;
  origin: Origin;
  url: string;
  /** Relative to `url`, or a full URL. Default `openapi.json`. */
  path: string;
  /** Replaces the path prefix taken from the document's server entry. */
  basePath?: string;
  type: 'openapi' | 'mcp';
  /** The document itself, instead of fetching it: an object, or JSON or YAML text. */
  spec?: JsonObject | string;
  authType: ToolServerAuth;
  /** Header or query parameter that carries the key for `header` and `query`. */
  authName?: string;
  key?: string;
  headers: Record<string, string>;
  name?: string;
  description?: string;
  isEnabled: boolean;
  /** Whether every chat has it without asking. */
  isDefault: boolean;
  /** Plain entries allow, `!name` blocks; exact function names. */
  functionFilter: string[];
  tags: string[];
  timeoutMs?: number;
  maxResultBytes?: number;
  /** Keys the gateway has no word for, kept as they came. */
  extra: JsonObject;
}

/** A key of the gateway. The key itself is nowhere kept, only its hash. */
export interface KeyRecord {
  id: string;
  name: string;
  role: 'admin' | 'user';
  /** HMAC of the key, as hex; unique. */
  hash: string;
  /** Milliseconds since 1970. */
  createdAt: number;
  expiresAt?: number;
  /** Ids of models this key may use; undefined: all. */
  models?: string[];
  /** Entries as in `tool_ids`; undefined: all. */
  tools?: string[];
  /** Kept as they came, for the limits of later releases. */
  limits?: JsonObject;
}

/**
 * What is registered, and what the gateway has to remember. One implementation keeps it in memory, another in SQLite.
 * Every change is acknowledged only when it is durable. Records come back frozen, and the same object as long as the entry is unchanged, so that
 * a caller may keep what it derived from one.
 * @throws GatewayError `conflict` for an id or hash that is taken, `not_found` for one that is not there, `storage_unavailable` when the store
 * cannot be read or written just now (locked, full, read-only, damaged), with the cause and the cure.
 */
export interface Registry {
  /** In the order in which they were created, or as the last replacement put them. */
  listToolServers(): Promise<ToolServerRecord[]>;
  findToolServer(id: string): Promise<ToolServerRecord | undefined>;
  createToolServer(record: ToolServerRecord): Promise<void>;
  /** Replaces the record of that id; `record.id` is the same. */
  changeToolServer(record: ToolServerRecord): Promise<void>;
  deleteToolServer(id: string): Promise<void>;
  /** All at once or not at all. */
  replaceToolServers(records: readonly ToolServerRecord[]): Promise<void>;

  listKeys(): Promise<KeyRecord[]>;
  findKeyByHash(hash: string): Promise<KeyRecord | undefined>;
  createKey(record: KeyRecord): Promise<void>;
  changeKey(record: KeyRecord): Promise<void>;
  deleteKey(id: string): Promise<void>;

  /** Small facts such as "the bundled server was registered once". */
  readFact(name: string): Promise<string | undefined>;
  writeFact(name: string, value: string): Promise<void>;

  close(): Promise<void>;
}
