import { chooseLosses, groupOf, type Share } from '../../shared/fairness/fair-shares.ts';
import type { QueuedWrite } from './queued-write.ts';

/** What a write takes besides its texts, so that a million small ones are bounded too. */
const leastCharacters = 1_000;

/** The writes of one caller, oldest first. */
interface Waiting<Write> {
  writes: Write[];
  characters: number;
}

/**
 * Writes that wait for the database. Those of one caller stay in order; keys take turns, and so do the people of one key. Beyond the bound, the caller
 * with the most loses the newest.
 */
export class WriteQueue<Write extends QueuedWrite> {
  readonly #maxCharacters: number;
  /** By key, then by caller. Whose turn is next comes first. */
  readonly #keys = new Map<string, Map<string, Waiting<Write>>>();
  #characters = 0;
  #size = 0;

  constructor(maxCharacters: number) {
    this.#maxCharacters = maxCharacters;
  }

  get size(): number {
    return this.#size;
  }

  /** Returns the writes that leave the queue because it is full, perhaps this one. */
  add(write: Write): Write[] {
    const { callerId } = write;
    const key = groupOf(callerId);
    const callers = this.#keys.get(key) ?? new Map<string, Waiting<Write>>();
    this.#keys.set(key, callers);
    const waiting = callers.get(callerId) ?? { writes: [], characters: 0 };
    callers.set(callerId, waiting);
    waiting.writes.push(write);
    this.#count(waiting, write, 1);
    if (this.#characters <= this.#maxCharacters) return [];
    const losses = chooseLosses(this.#shares(), { entries: Infinity, characters: this.#maxCharacters });
    return losses.flatMap(({ owner }) => this.#takeNewest(owner));
  }

  takeNext(): Write | undefined {
    const [next] = this.#keys;
    if (next === undefined) return undefined;
    const [key, callers] = next;
    const [[callerId, waiting] = ['', undefined]] = callers;
    const write = waiting?.writes.shift();
    if (waiting === undefined || write === undefined) return undefined;
    this.#count(waiting, write, -1);
    moveToEnd(callers, callerId, waiting.writes.length > 0);
    moveToEnd(this.#keys, key, callers.size > 0);
    return write;
  }

  #takeNewest(callerId: string): Write[] {
    const key = groupOf(callerId);
    const callers = this.#keys.get(key);
    const waiting = callers?.get(callerId);
    const write = waiting?.writes.pop();
    if (callers === undefined || waiting === undefined || write === undefined) return [];
    this.#count(waiting, write, -1);
    if (waiting.writes.length === 0) callers.delete(callerId);
    if (callers.size === 0) this.#keys.delete(key);
    return [write];
  }

  #count(waiting: Waiting<Write>, write: Write, sign: 1 | -1): void {
    const size = sign * sizeOf(write);
    waiting.characters += size;
    this.#characters += size;
    this.#size += sign;
  }

  /** The gateway's own writes are nobody's share, so none of them is lost. */
  *#shares(): Generator<Share<Write>> {
    for (const callers of this.#keys.values()) {
      for (const [owner, { writes, characters }] of callers) {
        if (owner !== '') yield { owner, entries: writes.length, characters, oldestFirst: () => newestFirst(writes) };
      }
    }
  }
}

const sizeOf = ({ characters }: QueuedWrite): number => characters + leastCharacters;

/** The newest leave first: whoever has waited longest is served even while more keeps coming. */
function* newestFirst<Write extends QueuedWrite>(writes: readonly Write[]): Generator<{ id: Write; characters: number }> {
  for (let index = writes.length - 1; index >= 0; index -= 1) {
    const write = writes[index];
    if (write !== undefined) yield { id: write, characters: sizeOf(write) };
  }
}

function moveToEnd<Value>(map: Map<string, Value>, key: string, isKept: boolean): void {
  const value = map.get(key);
  map.delete(key);
  if (isKept && value !== undefined) map.set(key, value);
}
