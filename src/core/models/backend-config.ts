/** Which API a backend is asked with: OpenAI's chat completions or Responses, Anthropic's Messages, or Ollama's own. */
export const backendKinds = ['openai', 'openai-responses', 'anthropic', 'ollama'] as const;
export type BackendKind = (typeof backendKinds)[number];

/** Which dialect of JSON Schema a backend understands. */
export const schemaDialects = ['plain', 'openai', 'ollama', 'gemini', 'llama-cpp'] as const;

/** Where a backend was entered, and so where it is changed. */
export type BackendOrigin = 'environment' | 'file' | 'api';

/** A server of models, as it was entered. Secrets (`key`, `headers`) stay inside: no endpoint and no log returns them. */
export interface BackendConfig {
  kind: BackendKind;
  /** The first of `urls`. */
  url: string;
  /** Servers with the same models. Without a trailing slash; for the kinds that are not Ollama they end with `/v1`. */
  urls: readonly string[];
  key?: string;
  /** Prepended to the ids of its models, separated by `/`. Has no trailing slash. */
  prefix?: string;
  /** Its id: unique, and shown instead of the URL. */
  name: string;
  origin: BackendOrigin;
  headers: Readonly<Record<string, string>>;
  /** The largest context, in tokens, that the gateway requests from an Ollama. */
  maxContext: number;
  /** Absent: derived from its URL. */
  schemas?: (typeof schemaDialects)[number];
  /** The only models that are offered. Absent: all that it lists. */
  models?: readonly string[];
  /** Requests that it may have at the same time. */
  maxConcurrent?: number;
  /** Requests that may wait for one of these places. */
  queue?: number;
  /** Ids of models that may answer while it fails. */
  fallbacks?: readonly string[];
  /** Whether pictures in results of tools are sent to it. */
  toolImages?: 'auto' | 'never';
  /** False for the Ollama that is tried at the default address. */
  isExplicit: boolean;
  /** Stored secrets that cannot be decrypted: `key`, `headers.x-token`. The backend cannot be used then. */
  unreadableSecrets?: readonly string[];
}
