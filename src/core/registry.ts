import type { JsonObject } from '../shared/json.ts';

/**
 * Where an entry comes from. Entries of the `environment` and the `file` are changed there; `database` ones through the API, and `bundled` ones too:
 * they stand in the database as well, and lead to the server that ships with the gateway.
 */
export type Origin = 'environment' | 'file' | 'bundled' | 'database';

export type ToolServerAuth = 'none' | 'bearer' | 'basic' | 'header' | 'query' | 'session';

/** A registered tool server. Secrets (`key`, `headers`) stay inside: no endpoint and no log returns them. */
export interface ToolServerRecord {
  /** `[a-z0-9_-]{1,64}`. */
  id: string;
  /** What the connection called itself, where that is not legal as an id or was taken. */
  wantedId?: string;
  origin: Origin;
  url: string;
  /** Relative to `url`, or a full URL. Default `openapi.json`. */
  path: string;
  /** Replaces the path prefix taken from the document's server entry. */
  basePath?: string;
  type: 'openapi' | 'mcp';
  /** An MCP server that the gateway starts and speaks to over its pipes; then `url` only names it. From the configuration file alone, never by request. */
  process?: { command: string; args: string[]; environment: Record<string, string> };
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
  /** Says with which secret the hash was made; absent in records of the first release. */
  secretMark?: string;
  /** Milliseconds since 1970. */
  createdAt: number;
  expiresAt?: number;
  /** Ids of models this key may use; undefined: all. */
  models?: string[];
  /** Entries as in `tool_ids`; undefined: all. */
  tools?: string[];
  /** `{requests_per_minute?, concurrent_runs?}`; what an earlier release let in beside them is kept and has no effect. */
  limits?: JsonObject;
}

/**
 * What is registered, and what the gateway has to remember.
 * Every change is acknowledged only when it is durable. Records come back frozen, and the same object as long as the entry is unchanged, so that
 * a caller may keep what it derived from one.
 * @throws GatewayError `conflict` for an id or hash that is taken, `not_found` for one that is not there, `storage_unavailable` when the store
 * cannot be read or written just now (locked, full, read-only, damaged), with the cause and the cure.
 */
export interface Registry {
  /**
   * In the order in which they were created, or as the last replacement put them. Where some come from elsewhere, those are listed without a store that
   * cannot be read, unless all are needed: whoever replaces a list must not begin with a part of it.
   */
  listToolServers(need?: 'all'): Promise<ToolServerRecord[]>;
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
