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

/** What is registered. One implementation keeps it in memory, another in a database. */
export interface Registry {
  listToolServers(): Promise<ToolServerRecord[]>;
  findToolServer(id: string): Promise<ToolServerRecord | undefined>;
}
