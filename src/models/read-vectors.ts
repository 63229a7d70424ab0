import type { JsonValue } from '../shared/json.ts';
import type { BackendClient } from './backend-client.ts';

/** The vectors of an answer with embeddings. @throws GatewayError `upstream_invalid_response` unless there is one for each text */
export function readVectors(vectors: readonly (JsonValue | undefined)[], count: number, client: BackendClient): number[][] {
  const read = vectors.filter((vector): vector is number[] => Array.isArray(vector) && typeof vector[0] === 'number');
  if (read.length !== count || vectors.length !== count) throw client.invalid('answers without an embedding for each text');
  return read;
}
