import { parse } from 'secure-json-parse';
import { GatewayError } from '../../core/errors.ts';
import { hasMoreValuesThan, isTextDeeperThan } from '../../shared/json-depth.ts';
import type { JsonValue } from '../../shared/json.ts';
import { limits } from '../../core/limits.ts';
import { parseJsonAside } from '../../workers/parse-json.ts';
import type { ParsedJson, ParseTask, TooMuch } from '../../workers/parse-json.ts';
import { TooManyWaiting, TookTooLong, TookTooMuchMemory } from '../../workers/worker-pool.ts';

export interface ParseOptions {
  caller: string;
  signal: AbortSignal;
  /** As in `ParseTask`. */
  documents: readonly string[];
  maxDepth: number;
  prototypes: ParseTask['prototypes'];
}

/**
 * Parses what a caller sent: in place what is small or holds few values, aside what is not. There documents become text, and what holds more than
 * the event loop can take at once is refused.
 * @throws GatewayError `invalid_request`, `payload_too_large`, `overloaded`; the signal's reason
 */
export async function parseJsonBody(bytes: Buffer, options: ParseOptions): Promise<JsonValue> {
  const { caller, signal, ...rest } = options;
  const inPlace = parseInPlace(bytes, options);
  if (inPlace !== undefined) return inPlace.value;
  const { bodyValues: maxValues, bodyFieldNames: maxFieldNames, bodyNumbers: maxNumbers } = limits;
  try {
    return valueOf(await parseJsonAside({ source: bytes, maxValues, maxFieldNames, maxNumbers, ...rest }, { caller, signal }), options);
  } catch (error) {
    throw toShown(error);
  }
}

/** Undefined when it has to be parsed aside. */
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
  const action = prototypes === 'refuse' ? 'error' : 'remove';
  try {
    return { value: parse(text, { protoAction: action, constructorAction: action }) as JsonValue };
  } catch (error) {
    throw invalidJson(error instanceof Error ? error.message : String(error));
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
    values: `more than ${limits.bodyValues} values (texts, lists, objects and so on)`,
    'field names': `more than ${limits.bodyFieldNames} different names of fields`,
    numbers: `more than ${limits.bodyNumbers} numbers`,
  };
  const cure = 'Send less at once; of a tool server send the "url", or its document as "openapi", which does not count.';
  return new GatewayError('payload_too_large', `The JSON holds ${excess[of]}. ${cure}`);
}

function invalidJson(message: string): GatewayError {
  return new GatewayError('invalid_request', `The request is malformed: the body is not valid JSON: ${message.slice(0, 200)}`);
}

function tooDeep(maxDepth: number): GatewayError {
  return new GatewayError('invalid_request', `The body is nested deeper than ${maxDepth} levels.`);
}

function toShown(error: unknown): unknown {
  if (error instanceof TooManyWaiting)
    return new GatewayError('overloaded', 'Too many large requests wait to be read. Try again in a moment.', {
      retryAfter: '1',
      cause: error,
    });
  if (error instanceof TookTooLong || error instanceof TookTooMuchMemory)
    return new GatewayError('payload_too_large', 'The JSON takes too long or too much memory to be read. Send less at once.', {
      cause: error,
    });
  return error;
}
