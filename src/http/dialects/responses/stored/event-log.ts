import type { Emit } from '../../../../shared/async/emit.ts';
import type { FairMap } from '../../../../shared/fairness/fair-map.ts';
import { waitUnlessAborted } from '../../../../shared/async/wait-for.ts';

/** Several events, one after the other, as they are written. */
interface Chunk {
  key: string;
  /** Sequence numbers. */
  first: number;
  last: number;
}

/** The events of one response in memory, for readers that come and go. Events that were dropped from memory are left out. */
export class EventLog {
  readonly #memory: FairMap<string>;
  readonly #owner: string;
  readonly #id: string;
  readonly #chunks: Chunk[] = [];
  #grown = Promise.withResolvers<void>();
  #isEnded = false;

  /** `memory`: shared by all logs. */
  constructor(memory: FairMap<string>, { owner, id }: { owner: string; id: string }) {
    this.#memory = memory;
    this.#owner = owner;
    this.#id = id;
  }

  /** `text`: whole server-sent events, numbered from zero. */
  append(text: string): void {
    if (text === '') return;
    const first = (this.#chunks.at(-1)?.last ?? -1) + 1;
    const key = `${this.#id} ${first}`;
    this.#chunks.push({ key, first, last: first + text.split(endOfEvent).length - 2 });
    this.#memory.set(key, { owner: this.#owner, value: text, characters: text.length });
    this.#wake();
  }

  end(): void {
    this.#isEnded = true;
    this.#wake();
  }

  /** Emits the events after a sequence number, until the last. @throws the signal's reason */
  async follow(after: number, { emit, signal }: { emit: Emit<string>; signal: AbortSignal }): Promise<void> {
    for (let index = 0; ;) {
      for (; index < this.#chunks.length; index += 1) {
        const text = this.#textAfter(after, this.#chunks[index]);
        if (text !== '') await emit([text]);
        signal.throwIfAborted();
      }
      if (this.#isEnded) return;
      await waitUnlessAborted(this.#grown.promise, signal);
    }
  }

  forget(): void {
    for (const { key } of this.#chunks) this.#memory.delete(key);
  }

  #textAfter(after: number, chunk: Chunk | undefined): string {
    if (chunk === undefined || chunk.last <= after) return '';
    const text = this.#memory.get(chunk.key) ?? '';
    return chunk.first > after
      ? text
      : text
          .split(endOfEvent)
          .slice(after - chunk.first + 1)
          .join(endOfEvent);
  }

  #wake(): void {
    this.#grown.resolve();
    this.#grown = Promise.withResolvers();
  }
}

const endOfEvent = '\n\n';
