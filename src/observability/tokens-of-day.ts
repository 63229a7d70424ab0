import { keyIdOf } from '../core/callers/people.ts';

/** People of one key whose tokens of today are remembered; beyond it those of the least recently active one are forgotten. */
const peopleOfKey = 50_000;

interface TokensOfKey {
  all: number;
  /** By their ids as callers. */
  people: Map<string, number>;
}

/** The tokens that callers have used today. */
export class TokensOfDay {
  readonly #today: () => string;
  #day = '';
  #keys = new Map<string, TokensOfKey>();

  /** `today`: the date in UTC. */
  constructor(today: () => string) {
    this.#today = today;
  }

  add(callerId: string, count: number): void {
    const day = this.#today();
    if (this.#day !== day) {
      this.#day = day;
      this.#keys = new Map();
    }
    if (count === 0) return;
    const keyId = keyIdOf(callerId);
    const ofKey = this.#keys.get(keyId) ?? { all: 0, people: new Map<string, number>() };
    this.#keys.set(keyId, ofKey);
    ofKey.all += count;
    if (callerId === keyId) return;
    const before = ofKey.people.get(callerId) ?? 0;
    // To the end, so that the first is the least recently active one.
    ofKey.people.delete(callerId);
    ofKey.people.set(callerId, before + count);
    const [quietest] = ofKey.people.keys();
    if (ofKey.people.size > peopleOfKey && quietest !== undefined) ofKey.people.delete(quietest);
  }

  /** For a key with several people, the sum of all of them. */
  of(callerId: string): number {
    const keyId = keyIdOf(callerId);
    const ofKey = this.#day === this.#today() ? this.#keys.get(keyId) : undefined;
    return (callerId === keyId ? ofKey?.all : ofKey?.people.get(callerId)) ?? 0;
  }
}
