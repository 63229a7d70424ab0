import { isDeeperThan, isJsonObject, type JsonObject, type JsonValue } from '../../shared/json/json.ts';
import { limits } from '../../core/limits.ts';

/** Far more than any real answer has; further entries are dropped. */
const maxDetails = 1_000;
/** The same of their characters; all are serialized at once for the next request. */
const maxCharacters = 2 * 1024 * 1024;
/** The fields that arrive in fragments; all others arrive complete. */
const fragmentedFields: ReadonlySet<string> = new Set(['text', 'summary', 'data']);

/**
 * Collects OpenRouter's `reasoning_details`, which hold signatures and encrypted reasoning of other providers. The list must be sent back unchanged
 * and in order with the tool calls that follow it. A stream sends it in fragments.
 */
export class ReasoningDetails {
  readonly #details: JsonObject[] = [];
  #characters = 0;

  /** Returns the number of characters added, for the output limit. */
  add(value: JsonValue | undefined): number {
    if (!Array.isArray(value)) return 0;
    let characters = 0;
    for (const piece of value) {
      if (!isJsonObject(piece) || isDeeperThan(piece, limits.jsonDepth)) continue;
      characters += JSON.stringify(piece).length;
      if (this.#characters + characters > maxCharacters) continue;
      const last = this.#details.at(-1);
      if (last !== undefined && continues(last, piece)) join(last, piece);
      else if (this.#details.length < maxDetails) this.#details.push({ ...piece });
    }
    this.#characters += characters;
    return characters;
  }

  /** Undefined if there were none. */
  fields(): JsonObject | undefined {
    return this.#details.length === 0 ? undefined : { reasoning_details: this.#details };
  }
}

function continues(last: JsonObject, piece: JsonObject): boolean {
  return piece['index'] !== undefined && last['index'] === piece['index'] && last['type'] === piece['type'];
}

function join(last: JsonObject, piece: JsonObject): void {
  for (const [key, value] of Object.entries(piece)) {
    const before = last[key];
    if (fragmentedFields.has(key) && typeof before === 'string' && typeof value === 'string') last[key] = before + value;
    else if (value !== null && value !== undefined && key !== '__proto__') last[key] = value;
  }
}
