import type { Embed } from '../../core/models/embeddings.ts';
import type { ModelBackend, ModelRecord, ToolPictures } from '../../core/models/model.ts';
import type { JsonObject } from '../../shared/json/json.ts';

/** An address that did not list its models. */
export interface SilentAddress {
  url: string;
  error: unknown;
}

/** A backend and how its models are listed. */
export interface CatalogBackend {
  /** For operators and error messages: `ollama`, `openai-2`, `demo`. */
  name: string;
  /** Puts `<prefix>/` before every id of this backend. */
  prefix?: string;
  /** Whether its models run locally. */
  isLocal: boolean;
  /** Looked for where it usually is, without being configured: it may be missing. */
  isOptional?: boolean;
  backend: ModelBackend;
  /** Public ids of the models that answer if one of its own cannot, in this order. */
  fallbacks?: readonly string[];
  /** Resolves with the backend's own ids, or rejects; the catalog sets the time limit. */
  list(signal: AbortSignal): Promise<ModelRecord[]>;
  /** The addresses that did not list their models when others last did; absent for a backend with one address. */
  silentAddresses?: () => readonly SilentAddress[];
  /** Absent: there is no more to say than the list does. */
  describe?: (name: string, signal: AbortSignal) => Promise<JsonObject>;
  /** The entries of the models that are loaded, by the backend's names; absent for a backend that does not say. */
  loaded?: (signal: AbortSignal) => Promise<{ name: string; entry: JsonObject }[]>;
  embed?: Embed;
  /** Absent: it gets no pictures of functions. */
  toolPictures?: ToolPictures;
}
