import type { JsonObject } from '../shared/json.ts';

/** A virtual model: another model with a role, tools and limits of its own. */
export interface PresetRecord {
  /** As clients name it; `[A-Za-z0-9._:-]{1,64}`. */
  id: string;
  /** `file`: from the configuration, where it is changed. */
  origin: 'file' | 'database';
  name?: string;
  description?: string;
  /** A model of a backend, or another preset. */
  baseModel: string;
  /** May hold `{{NAME}}`. */
  system?: string;
  /** Entries as in `tool_ids`, in place of the defaults; undefined: the defaults, empty: none. */
  tools?: string[];
  /** Presets to which it may hand a conversation over. */
  subAgents: string[];
  /** Parameters for the backend that a request may replace. */
  params: JsonObject;
  /** As `params.function_calling` of a request. */
  mode?: string;
  maxToolRounds?: number;
  toolTimeoutMs?: number;
  /** All calls, none, or those of these functions. */
  needsApproval?: boolean | string[];
  /** Milliseconds since 1970. */
  createdAt: number;
}

export interface PresetBook {
  /** Those of the file first. Records come back as the same objects while they are unchanged. @throws GatewayError `storage_unavailable` */
  list(): Promise<PresetRecord[]>;
  find(id: string): Promise<PresetRecord | undefined>;
}
