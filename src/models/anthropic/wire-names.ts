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
  readonly #numbers = new Numbers();

  toWire(name: string): string {
    const known = this.#wireByName.get(name);
    if (known !== undefined) return known;
    const safe = (accepted.test(name) ? name : name.replaceAll(/[^a-zA-Z0-9_-]+/g, '_') || 'function').slice(0, longestName);
    let wire = safe;
    const start = safe.slice(0, longestName - 8);
    while (this.#nameByWire.has(wire)) wire = `${start}_${this.#numbers.next(start)}`;
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
  readonly #numbers = new Numbers();
  readonly #unanswered = new Map<string, string[]>();

  /** The id of a call. */
  ofCall(id: string): string {
    const safe = accepted.test(id) ? id : `${id.replaceAll(/[^a-zA-Z0-9_-]+/g, '_').slice(0, keptOfId)}_${hash('sha256', id).slice(0, 8)}`;
    let wire = safe;
    while (this.#taken.has(wire)) wire = `${safe}_${this.#numbers.next(safe)}`;
    this.#taken.add(wire);
    const unanswered = this.#unanswered.get(id);
    if (unanswered === undefined) this.#unanswered.set(id, [wire]);
    else unanswered.push(wire);
    return wire;
  }

  /** The id of the call that a result belongs to; undefined if there is none without a result. */
  ofResult(id: string): string | undefined {
    return this.#unanswered.get(id)?.shift();
  }
}

/** The numbers after texts that occur several times, from 2. Tried from 2 each time, a chat with ten thousand calls of one id would take seconds. */
class Numbers {
  readonly #last = new Map<string, number>();

  next(text: string): number {
    const number = (this.#last.get(text) ?? 1) + 1;
    this.#last.set(text, number);
    return number;
  }
}
