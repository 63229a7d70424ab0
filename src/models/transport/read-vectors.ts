import { ExactNumber, isNumber } from '../../shared/json/exact-number.ts';
import type { JsonValue } from '../../shared/json/json.ts';
import type { BackendClient } from './backend-client.ts';

/** The vectors of an answer with embeddings. @throws GatewayError `upstream_invalid_response` unless there is one for each text */
export function readVectors(vectors: readonly (JsonValue | undefined)[], count: number, client: BackendClient): number[][] {
  const read = vectors.filter((vector): vector is (number | ExactNumber)[] => Array.isArray(vector) && isNumber(vector[0]));
  if (read.length !== count || vectors.length !== count) throw client.invalid('answers without an embedding for each text');
  return read.map((vector) => (vector.some((part) => part instanceof ExactNumber) ? vector.map(Number) : (vector as number[])));
}
