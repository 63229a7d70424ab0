import { hash } from 'node:crypto';

const accepted = /^[a-zA-Z0-9_-]+$/;
/** Longer names of functions are refused; nothing is said about ids. */
const longestName = 128;
/** Characters of an id that are kept before its hash. */
const keptOfId = 40;

/** The names of functions as Anthropic takes them, and back. Those of a request are the same in its next turn, as long as its functions are. */
export class WireNames {
  readonly #wireByName = new Map<string, string>();
  readonly #nameByWire = new Map<string, string>();

  toWire(name: string): string {
    const known = this.#wireByName.get(name);
    if (known !== undefined) return known;
    const safe = (accepted.test(name) ? name : name.replaceAll(/[^a-zA-Z0-9_-]+/g, '_') || 'function').slice(0, longestName);
    let wire = safe;
    for (let number = 2; this.#nameByWire.has(wire); number += 1) wire = `${safe.slice(0, longestName - 8)}_${number}`;
    this.#wireByName.set(name, wire);
    this.#nameByWire.set(wire, name);
    return wire;
  }

  fromWire(wire: string): string {
    return this.#nameByWire.get(wire) ?? wire;
  }
}

/**
 * The ids of calls and their results. Anthropic refuses ids with other characters, and an id that occurs twice in a conversation; some servers begin
 * with the same ids in each turn.
 */
export class WireIds {
  readonly #taken = new Set<string>();
  readonly #unanswered = new Map<string, string[]>();

  /** The id of a call. */
  ofCall(id: string): string {
    const safe = accepted.test(id) ? id : `${id.replaceAll(/[^a-zA-Z0-9_-]+/g, '_').slice(0, keptOfId)}_${hash('sha256', id).slice(0, 8)}`;
    let wire = safe;
    for (let number = 2; this.#taken.has(wire); number += 1) wire = `${safe}_${number}`;
    this.#taken.add(wire);
    this.#unanswered.set(id, [...(this.#unanswered.get(id) ?? []), wire]);
    return wire;
  }

  /** The id of the call that a result belongs to; undefined if there is none without a result. */
  ofResult(id: string): string | undefined {
    return this.#unanswered.get(id)?.shift();
  }
}
