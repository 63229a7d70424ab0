import { isDeeperThan, isJsonObject } from '../../shared/json.ts';
import type { JsonObject, JsonValue } from '../../shared/json.ts';
import { limits } from '../../core/limits.ts';

/** Far beyond any answer; what comes after is not kept. */
const maxDetails = 1_000;
/** What arrives in pieces; everything else of a detail comes whole. */
const piecewise: ReadonlySet<string> = new Set(['text', 'summary', 'data']);

/**
 * OpenRouter's `reasoning_details`, with the signatures and the encrypted parts of other providers' thoughts: a list which has to come back as it was,
 * in its order, with the calls that follow it. A stream sends it in pieces.
 */
export class ReasoningDetails {
  readonly #details: JsonObject[] = [];

  /** Gives the characters that were added, for the meter of the answer. */
  add(value: JsonValue | undefined): number {
    if (!Array.isArray(value)) return 0;
    let characters = 0;
    for (const piece of value) {
      if (!isJsonObject(piece) || isDeeperThan(piece, limits.jsonDepth)) continue;
      characters += JSON.stringify(piece).length;
      const last = this.#details.at(-1);
      if (last !== undefined && continues(last, piece)) join(last, piece);
      else if (this.#details.length < maxDetails) this.#details.push({ ...piece });
    }
    return characters;
  }

  /** Undefined where there were none. */
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
    if (piecewise.has(key) && typeof before === 'string' && typeof value === 'string') last[key] = before + value;
    else if (value !== null && value !== undefined && key !== '__proto__') last[key] = value;
  }
}
