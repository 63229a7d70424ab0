import type { Caller } from '../core/callers/caller.ts';
import { keyIdOf } from '../core/callers/people.ts';
import { sumOf, type KnownPerson, type UsageCounts } from '../core/stores/usage-store.ts';

/** A caller can invent ids of people, and so rows: beyond this number, the use of a key in a day is no longer counted by person. */
const rowsOfKeyPerDay = 20_000;

/** The counts and people that have to be saved. */
export class UnsavedUsage {
  readonly #today: () => string;
  readonly #mayHaveRow = namesOfDay();
  readonly #mayBeNoted = namesOfDay();
  #counts = new Map<string, UsageCounts>();
  #people = new Map<string, KnownPerson>();

  /** `today`: the date in UTC. */
  constructor(today: () => string) {
    this.#today = today;
  }

  /** The counts of a caller today, to which the caller of this function adds. */
  countsOf(caller: Caller, model: string, tool: string): UsageCounts {
    const day = this.#today();
    const keyId = keyIdOf(caller.id);
    const personId = caller.person?.id ?? '';
    const known = this.#counts.get(rowKey(day, keyId, { personId, model, tool }));
    if (known !== undefined) return known;
    const hasOwnRow = this.#mayHaveRow(day, keyId, JSON.stringify([personId, model, tool]));
    const row = hasOwnRow ? { personId, model, tool } : { personId: '', model: '', tool: tool && 'others' };
    const key = rowKey(day, keyId, row);
    const counts = this.#counts.get(key) ?? { day, keyId, ...row, requests: 0, tokensIn: 0, tokensOut: 0, toolCalls: 0, failures: 0 };
    this.#counts.set(key, counts);
    return counts;
  }

  /** Returns whether the person is noted. */
  notePerson({ id, person }: Caller, time: number): boolean {
    const keyId = keyIdOf(id);
    if (person === undefined || !this.#mayBeNoted(this.#today(), keyId, person.id)) return false;
    this.#people.set(id, { ...person, keyId, last: time });
    return true;
  }

  /** Takes everything out, to save it. */
  take(): { counts: Map<string, UsageCounts>; people: Map<string, KnownPerson> } {
    const taken = { counts: this.#counts, people: this.#people };
    this.#counts = new Map();
    this.#people = new Map();
    return taken;
  }

  /** Adds what could not be saved to the counts of the meantime. */
  putBack({ counts, people }: ReturnType<UnsavedUsage['take']>): void {
    for (const [key, count] of counts) {
      const later = this.#counts.get(key);
      this.#counts.set(key, later === undefined ? count : sumOf(count, later));
    }
    this.#people = new Map([...people, ...this.#people]);
  }
}

function rowKey(day: string, keyId: string, { personId, model, tool }: Pick<UsageCounts, 'personId' | 'model' | 'tool'>): string {
  return JSON.stringify([day, keyId, personId, model, tool]);
}

/** Remembers so many names of each key in a day, and says whether a name is one of them. */
function namesOfDay(): (day: string, keyId: string, name: string) => boolean {
  let names = { day: '', of: new Map<string, Set<string>>() };
  return (day, keyId, name) => {
    if (names.day !== day) names = { day, of: new Map() };
    const ofKey = names.of.get(keyId) ?? new Set();
    names.of.set(keyId, ofKey);
    if (ofKey.has(name)) return true;
    if (ofKey.size >= rowsOfKeyPerDay) return false;
    ofKey.add(name);
    return true;
  };
}
