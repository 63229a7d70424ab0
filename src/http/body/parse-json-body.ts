import { GatewayError } from '../../core/errors.ts';
import { hasMoreValuesThan, isTextDeeperThan } from '../../shared/json/json-depth.ts';
import type { JsonValue } from '../../shared/json/json.ts';
import { limits } from '../../core/limits.ts';
import { parseJsonInWorker, type ParsedJson, type ParseTask, type TooMuch } from '../../workers/parse-json.ts';
import { TookTooLong, TookTooMuchMemory } from '../../workers/worker-pool.ts';
import { TooManyWaiting } from '../../workers/waiting-jobs.ts';
import { jsonProblem } from '../../shared/json/explain-json-fault.ts';
import { parseForeign } from '../../shared/json/parse-exactly.ts';

interface ParseOptions {
  caller: string;
  signal: AbortSignal;
  /** Paths of documents, as in `ParseTask`. */
  documents: readonly string[];
  maxDepth: number;
  prototypes: ParseTask['prototypes'];
}

/**
 * Parses JSON of a caller: on the main thread if it is small or has few values, otherwise in a worker. The worker returns documents as text, and
 * refuses JSON with more values than the main thread could process without blocking.
 * @throws GatewayError `invalid_request`, `payload_too_large`, `overloaded`; the signal's reason
 */
export async function parseJsonBody(bytes: Buffer, options: ParseOptions): Promise<JsonValue> {
  const { caller, signal, ...rest } = options;
  const inPlace = parseInPlace(bytes, options);
  if (inPlace !== undefined) return inPlace.value;
  const [maxValues, maxFieldNames, maxNumbers] = [limits.bodyValues, limits.bodyFieldNames, limits.bodyNumbers];
  try {
    return valueOf(await parseJsonInWorker({ source: bytes, maxValues, maxFieldNames, maxNumbers, ...rest }, { caller, signal }), options);
  } catch (error) {
    throw toShown(error);
  }
}

/** Undefined when it has to be parsed in a worker. */
export function parseInPlace(
  bytes: Buffer,
  { maxDepth, prototypes }: Pick<ParseOptions, 'maxDepth' | 'prototypes'>,
): { value: JsonValue } | undefined {
  if (bytes.byteLength > limits.inPlaceCharacters) return undefined;
  const text = bytes.toString();
  if (bytes.byteLength > limits.smallBodyBytes) {
    if (isTextDeeperThan(text, maxDepth)) throw tooDeep(maxDepth);
    if (hasMoreValuesThan(text, limits.inPlaceValues)) return undefined;
  }
  try {
    return { value: parseForeign(text, prototypes) };
  } catch (error) {
    throw invalidJson(jsonProblem(text, error));
  }
}

function valueOf(parsed: ParsedJson, { maxDepth }: ParseOptions): JsonValue {
  switch (parsed.type) {
    case 'value':
      return parsed.value;
    case 'invalid':
      throw invalidJson(parsed.message);
    case 'too_deep':
      throw tooDeep(maxDepth);
    case 'too_much':
      throw tooMuch(parsed);
  }
}

function tooMuch({ of }: TooMuch): GatewayError {
  const excess = {
    values: `more than ${limits.bodyValues} values (strings, arrays, objects and so on)`,
    'field names': `more than ${limits.bodyFieldNames} different field names`,
    numbers: `more than ${limits.bodyNumbers} numbers`,
  };
  const cure = 'Send less at once; for a tool server send its "url", or its document as "openapi", which does not count.';
  return new GatewayError('payload_too_large', `The JSON has ${excess[of]}. ${cure}`);
}

function invalidJson(message: string): GatewayError {
  return new GatewayError('invalid_request', `The request is malformed: the body is not valid JSON: ${message.slice(0, 200)}`);
}

function tooDeep(maxDepth: number): GatewayError {
  return new GatewayError('invalid_request', `The body is nested deeper than ${maxDepth} levels.`);
}

function toShown(error: unknown): unknown {
  if (error instanceof TooManyWaiting)
    return new GatewayError('overloaded', 'Too many large requests are waiting to be parsed. Try again in a moment.', {
      retryAfter: '1',
      cause: error,
    });
  if (error instanceof TookTooLong || error instanceof TookTooMuchMemory)
    return new GatewayError('payload_too_large', 'Parsing the JSON takes too long or too much memory. Send less at once.', {
      cause: error,
    });
  return error;
}
