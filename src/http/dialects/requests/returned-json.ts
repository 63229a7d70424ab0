import { limits } from '../../../core/limits.ts';
import { isTextDeeperThan, valuesIn } from '../../../shared/json/json-depth.ts';
import { isJsonObject, type JsonObject } from '../../../shared/json/json.ts';
import { parseExactly } from '../../../shared/json/parse-exactly.ts';

/** Values in all the texts of a request that only the gateway reads, such as signatures of thoughts: six thousand of those, and parsing takes 20 ms. */
export const returnedValues = 20_000;

/**
 * Reads what the gateway has written into opaque texts, which clients return unread. Any client could have written them itself, and no limit of bodies
 * looks into texts, so all those of one request together have a limit of their own.
 */
export class ReturnedJson {
  #valuesLeft: number = returnedValues;

  /** Undefined for a value that is no object, too deep, or too large. */
  read(bytes: Buffer): JsonObject | undefined {
    const text = bytes.toString();
    const values = valuesIn(text, this.#valuesLeft);
    if (values > this.#valuesLeft || isTextDeeperThan(text, limits.jsonDepth)) return undefined;
    this.#valuesLeft -= values;
    try {
      const value: unknown = parseExactly(text);
      return isJsonObject(value) ? value : undefined;
    } catch {
      return undefined;
    }
  }
}
