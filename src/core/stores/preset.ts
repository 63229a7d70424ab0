import type { JsonObject } from '../../shared/json/json.ts';
import type { MaybePromise } from '../../shared/async/maybe-promise.ts';

/** A virtual model: a base model with a system prompt, tools, parameters and limits. */
export interface PresetRecord {
  /** As clients name it; `[A-Za-z0-9._:-]{1,64}`. */
  id: string;
  /** `file`: from the configuration file, and read-only. */
  origin: 'file' | 'database';
  name?: string;
  description?: string;
  /** A model of a backend, or another preset. */
  baseModel: string;
  /** Public ids of the models that answer if the base model cannot; undefined: those of its backend, empty: none. */
  fallbacks?: string[];
  /** May contain `{{NAME}}`. */
  system?: string;
  /** Entries as in `tool_ids`, in place of the defaults; undefined: the defaults, empty: none. */
  tools?: string[];
  /** Presets to which it may hand a conversation over. */
  subAgents: string[];
  /** Default parameters for the backend; a request may override them. */
  params: JsonObject;
  /** Like `params.function_calling` of a request. */
  mode?: string;
  maxToolRounds?: number;
  toolTimeoutMs?: number;
  /** All calls, none, or those of these functions. */
  needsApproval?: boolean | string[];
  /** Milliseconds since 1970. */
  createdAt: number;
}

/** As it is stored; `damaged` says why it cannot be read. */
export type ReadPreset = PresetRecord | { damaged: unknown };

/** Looks up presets. */
export interface PresetFinder {
  /** Presets of the file first. An unchanged record is the same object each time. @throws GatewayError `storage_unavailable` */
  list(): Promise<PresetRecord[]>;
  find(id: string): MaybePromise<PresetRecord | undefined>;
}
