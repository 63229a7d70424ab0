import type { PeopleRule } from '../callers/people.ts';
import type { BackendConfig } from '../models/backend-config.ts';
import type { PresetRecord, ReadPreset } from './preset.ts';
import type { MaybePromise } from '../../shared/async/maybe-promise.ts';
import type { JsonObject } from '../../shared/json/json.ts';

/**
 * Where an entry comes from. Entries of the `environment` and the `file` are changed there, those of the `database` through the API. `bundled` ones
 * are in the database too, and lead to the server that ships with the gateway.
 */
export type Origin = 'environment' | 'file' | 'bundled' | 'database';

type ToolServerAuth = 'none' | 'bearer' | 'basic' | 'header' | 'query' | 'session' | 'oauth';

/** What an operator says about sign-in; whatever is left out is discovered. */
export interface OAuthSettings {
  clientId?: string;
  clientSecret?: string;
  scopes?: string[];
  /** Authorization endpoint. */
  authorizeUrl?: string;
  /** Token endpoint. */
  tokenUrl?: string;
  /** For whom tokens are requested (RFC 8707). False: nobody is named, because the authorization server refuses the parameter. */
  resource?: string | false;
  /** Further parameters of the address where people sign in. */
  authorizeParameters?: Record<string, string>;
  /** `client_credentials`: the gateway signs in as itself, for everybody. Default: each person signs in. */
  grant?: 'client_credentials';
}

/** A registered tool server. Secrets (`key`, `headers`) stay inside: no endpoint and no log returns them. */
export interface ToolServerRecord {
  /** `[a-z0-9_-]{1,64}`. */
  id: string;
  /** The id that the connection asked for, if it is invalid or was taken. */
  wantedId?: string;
  origin: Origin;
  url: string;
  /** Relative to `url`, or a full URL. Default `openapi.json`. */
  path: string;
  /** Replaces the path prefix taken from the document's server entry. */
  basePath?: string;
  type: 'openapi' | 'mcp';
  /** An MCP server that the gateway starts and talks to over stdio; `url` then only names it. Only from the configuration file, never through the API. */
  process?: { command: string; args: string[]; environment: Record<string, string>; cwd?: string };
  /** The document itself, instead of fetching it: an object, or JSON or YAML text. */
  spec?: JsonObject | string;
  authType: ToolServerAuth;
  /** Header or query parameter that carries the key for `header` and `query`. */
  authName?: string;
  key?: string;
  /** Each person uses it with a credential of their own; it then has no `key`. */
  isPerUser?: true;
  /** How people, or the gateway itself, sign in at the server; with `authType` `oauth`. */
  oauth?: OAuthSettings;
  headers: Record<string, string>;
  /** Names, in lower case, of headers of the caller's request that calls carry on. */
  forwardedHeaders?: readonly string[];
  /** The only version of MCP that is spoken with it, instead of the newest that both sides know. */
  protocolVersion?: string;
  name?: string;
  description?: string;
  isEnabled: boolean;
  /** Whether it is offered in every chat that does not name its tools. */
  isDefault: boolean;
  /** Plain entries allow, `!name` blocks; exact function names. */
  functionFilter: string[];
  tags: string[];
  timeoutMs?: number;
  maxResultBytes?: number;
  /** Unknown fields, stored unchanged. */
  extra: JsonObject;
}

/** An API key of the gateway. The key itself is not stored, only its hash. */
export interface KeyRecord {
  id: string;
  name: string;
  role: 'admin' | 'user';
  /** HMAC of the key, as hex; unique. */
  hash: string;
  /** Identifies the secret that the hash was made with; absent in records of the first release. */
  secretMark?: string;
  /** Milliseconds since 1970. */
  createdAt: number;
  expiresAt?: number;
  /** Ids of models this key may use; undefined: all. */
  models?: string[];
  /** Entries as in `tool_ids`; undefined: all. */
  tools?: string[];
  /** `{requests_per_minute?, concurrent_runs?}`; other fields, which earlier releases accepted, have no effect. */
  limits?: JsonObject;
  /** For all people of the key together; the fields of `limits`. */
  totalLimits?: JsonObject;
  /** How requests say which person they are for; absent: the key is one caller. */
  people?: PeopleRule;
}

/**
 * Tool servers, backends, keys, presets, and a few facts that the gateway has to remember.
 * Every change resolves only when it is durable. Records are frozen, and the same object as long as the entry is unchanged, so that values
 * derived from one can be cached by it.
 * @throws GatewayError `conflict` for an id or hash that is taken, `not_found` for one that does not exist, `storage_unavailable` when the store
 * cannot be read or written at the moment (locked, full, read-only, damaged), with the cause and the cure.
 */
export interface Registry {
  /**
   * In the order of their creation, or of the last replacement. If the store cannot be read, servers of the configuration are still listed, unless
   * `need` is `all`: replacing a list must not start from a part of it. The same array as long as nothing has changed.
   */
  listToolServers(need?: 'all'): MaybePromise<readonly ToolServerRecord[]>;
  findToolServer(id: string): Promise<ToolServerRecord | undefined>;
  createToolServer(record: ToolServerRecord): Promise<void>;
  /** Replaces the record of that id; `record.id` is the same. */
  changeToolServer(record: ToolServerRecord): Promise<void>;
  deleteToolServer(id: string): Promise<void>;
  /** All at once or not at all. */
  replaceToolServers(records: readonly ToolServerRecord[]): Promise<void>;

  /** Those that were added through the API, in the order of their creation. One whose secrets cannot be decrypted has `unreadableSecrets`. */
  listBackends(): MaybePromise<readonly BackendConfig[]>;
  createBackend(backend: BackendConfig): Promise<void>;
  /** Replaces the backend of that name. */
  changeBackend(backend: BackendConfig): Promise<void>;
  deleteBackend(name: string): Promise<void>;

  /** In the order of their creation. */
  listKeys(): Promise<readonly KeyRecord[]>;
  countKeys(): Promise<number>;
  findKey(id: string): Promise<KeyRecord | undefined>;
  findKeyByHash(hash: string): Promise<KeyRecord | undefined>;
  createKey(record: KeyRecord): Promise<void>;
  changeKey(record: KeyRecord): Promise<void>;
  deleteKey(id: string): Promise<void>;

  /** Those that were added through the API, in the order of their creation. */
  listPresets(): MaybePromise<readonly ReadPreset[]>;
  /** `most`: how many may be stored. */
  createPreset(preset: PresetRecord, most: number): Promise<'created' | 'taken' | 'full'>;
  /** `change` gets what is stored at that moment, and may throw; nothing is changed then. Gives what is stored now. */
  changePreset(id: string, change: (preset: PresetRecord) => PresetRecord): Promise<PresetRecord>;
  /** False if there is none of that id. */
  deletePreset(id: string): Promise<boolean>;

  /** Small facts such as "the bundled server was registered once". */
  readFact(name: string): Promise<string | undefined>;
  writeFact(name: string, value: string): Promise<void>;

  /** Looks at once for changes by other processes. */
  refresh(): Promise<void>;
  close(): Promise<void>;
}
