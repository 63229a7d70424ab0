import { parse } from 'secure-json-parse';
import { jsonrepair } from 'jsonrepair';
import { isDeeperThan, isJsonObject } from '../../core/json.ts';
import type { JsonObject, JsonValue } from '../../core/json.ts';
import { limits } from '../../core/limits.ts';

/** A JSON object or array found in a text. */
export interface FoundJson {
  value: JsonObject | JsonValue[];
  /** True when it was no valid JSON as written (single quotes, trailing commas, Python's `True`, …). */
  isRepaired: boolean;
}

/** A text that opens brackets without end would cost one scan for each: this many failed starts are enough. */
const maxFailedStarts = 200;

/**
 * Finds the outermost JSON objects and arrays of a text, in order, whatever stands around them. Braces inside strings do not count.
 * Only balanced pieces are looked at: a truncated one is never completed, because running half a call is worse than running none.
 */
export function findJson(text: string): FoundJson[] {
  const found: FoundJson[] = [];
  let failedStarts = 0;
  let position = nextOpening(text, 0);
  while (position !== -1 && failedStarts < maxFailedStarts) {
    const end = closingPosition(text, position);
    const json = end === -1 ? undefined : parseLoosely(text.slice(position, end + 1));
    if (json === undefined) failedStarts++;
    else found.push(json);
    position = nextOpening(text, json === undefined ? position + 1 : end + 1);
  }
  return found;
}

/** Own keys only and no prototype tricks: the text comes from a model. */
export function parseLoosely(text: string): FoundJson | undefined {
  const strict = parseContainer(text);
  if (strict !== undefined) return { value: strict, isRepaired: false };
  const repaired = repair(text);
  const loose = repaired === undefined ? undefined : parseContainer(repaired);
  return loose === undefined ? undefined : { value: loose, isRepaired: true };
}

function parseContainer(text: string): JsonObject | JsonValue[] | undefined {
  try {
    const value: unknown = parse(text, undefined, { protoAction: 'remove', constructorAction: 'remove' });
    if (isDeeperThan(value, limits.jsonDepth)) return undefined;
    return isJsonObject(value) || Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function repair(text: string): string | undefined {
  try {
    return jsonrepair(text);
  } catch {
    return undefined;
  }
}

function nextOpening(text: string, from: number): number {
  for (let position = from; position < text.length; position++) {
    if (text[position] === '{' || text[position] === '[') return position;
  }
  return -1;
}

/** Position of the bracket that closes the one at `start`, or -1. One pass, aware of strings. */
function closingPosition(text: string, start: number): number {
  const expected: string[] = [];
  let isInString = false;
  for (let position = start; position < text.length; position++) {
    const character = text[position];
    if (isInString) {
      if (character === '\\') position++;
      else if (character === '"') isInString = false;
      continue;
    }
    if (character === '"') isInString = true;
    else if (character === '{') expected.push('}');
    else if (character === '[') expected.push(']');
    else if ((character === '}' || character === ']') && expected.pop() !== character) return -1;
    if (expected.length === 0) return position;
  }
  return -1;
}
