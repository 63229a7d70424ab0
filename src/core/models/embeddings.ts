import type { JsonObject } from '../../shared/json/json.ts';

interface EmbeddingRequest {
  /** The backend's name of the model. */
  model: string;
  texts: readonly string[];
  /** Absent: as many as the model has. */
  dimensions?: number;
  /** Fields that only Ollama understands: `truncate`, `options`, `keep_alive`. */
  ollama: JsonObject;
  signal: AbortSignal;
  /** The id of the one who asks. */
  caller?: string;
}

/** Vectors in the order of their texts. */
export interface Embeddings {
  vectors: number[][];
  /** Tokens read; 0 if the backend does not say. */
  promptTokens: number;
}

/** @throws GatewayError (`upstream_*`); the signal's reason when aborted */
export type Embed = (request: EmbeddingRequest) => Promise<Embeddings>;
