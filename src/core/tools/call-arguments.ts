import { isDeeperThan, isJsonObject, type JsonObject } from '../../shared/json/json.ts';
import { limits } from '../limits.ts';
import { parseExactly } from '../../shared/json/parse-exactly.ts';

/** The arguments of a call for a protocol that has them as an object: empty if the text is none. */
export function argumentsAsObject(text: string): JsonObject {
  try {
    const value: unknown = parseExactly(text);
    return isJsonObject(value) && !isDeeperThan(value, limits.jsonDepth) ? value : {};
  } catch {
    return {};
  }
}
