import { GatewayError } from '../../core/errors.ts';
import { hasMoreValuesThan } from '../../shared/json/json-depth.ts';
import type { JsonValue } from '../../shared/json/json.ts';
import { limits } from '../../core/limits.ts';
import { readBytes, type OutboundResponse } from '../../core/outbound.ts';
import type { SecretMask } from '../../shared/secrets/secret-mask.ts';
import { parseJsonInWorker } from '../../workers/parse-json.ts';
import { parseExactly } from '../../shared/json/parse-exactly.ts';

/** A whole JSON answer that is not streamed. */
const upstreamJsonBytes = 16 * 1024 * 1024;
/** Values in it: a list of seven hundred models with all their details, or two thousand tokens with their probabilities. */
const upstreamAnswerValues = 50_000;

/** Stateless, because it is called without `stream`. */
const decoder = new TextDecoder();

/**
 * Reads a backend's complete JSON answer. One that is large, or has many values, is parsed in a worker, and may have no more values than the event
 * loop can handle at once. The gateway's secrets are redacted. @throws GatewayError `upstream_invalid_response`
 */
export async function readJsonAnswer(response: OutboundResponse, name: string, mask: SecretMask): Promise<JsonValue> {
  const { bytes, isTruncated } = await readBytes(response.body, upstreamJsonBytes);
  if (isTruncated) throw invalid(name, `sends more than ${upstreamJsonBytes} bytes`);
  if (bytes.byteLength <= limits.inPlaceCharacters) {
    const text = decoder.decode(bytes);
    // Fast path: most answers contain no secret.
    if (!hasMoreValuesThan(text, limits.inPlaceValues))
      return mask.text(text) === text ? parseHere(text, name) : mask.value(parseHere(text, name));
  }
  const task = {
    source: bytes,
    maxDepth: limits.bodyDepth,
    maxValues: upstreamAnswerValues,
    maxFieldNames: limits.bodyFieldNames,
    maxNumbers: limits.bodyNumbers,
    prototypes: 'remove',
    documents: [],
    secrets: mask.secrets,
  } as const;
  const parsed = await parseJsonInWorker(task, { caller: `backend ${name}` }).catch((error: unknown) => {
    throw invalid(name, 'sends an answer that cannot be read', error);
  });
  switch (parsed.type) {
    case 'value':
      return parsed.value;
    case 'invalid':
      throw invalid(name, 'sends malformed JSON');
    case 'too_deep':
      throw invalid(name, `sends JSON that is nested deeper than ${limits.bodyDepth} levels`);
    case 'too_much':
      throw invalid(
        name,
        `sends JSON of too many ${parsed.of} (at most ${{ values: upstreamAnswerValues, 'field names': limits.bodyFieldNames, numbers: limits.bodyNumbers }[parsed.of]})`,
      );
  }
}

function parseHere(text: string, name: string): JsonValue {
  try {
    return parseExactly(text) as JsonValue;
  } catch (error) {
    throw invalid(name, 'sends malformed JSON', error);
  }
}

function invalid(name: string, what: string, cause?: unknown): GatewayError {
  const message = `The model backend "${name}" ${what}. Check its base URL.`;
  return new GatewayError('upstream_invalid_response', message, { cause });
}
