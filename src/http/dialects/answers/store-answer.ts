import type { ChatEvent } from '../../../core/chat/chat.ts';
import type { StartedRun } from '../../../runs/started-run.ts';
import type { AnswerCollector } from './answer-format.ts';
import { notStored } from './not-stored.ts';

/** The answers of one dialect, and a chat with its request, are at most this large when they are stored, as JSON. */
export const storedAnswerCharacters = 2 * 1024 * 1024;

export const tooLargeToStore = `it is larger than ${storedAnswerCharacters} characters`;

/** Collects an answer, until it is too large to be stored. */
export class BoundedCollector<Collector extends Pick<AnswerCollector, 'add'>> {
  readonly collector: Collector;
  readonly #charactersOf: (event: ChatEvent) => number;
  #characters = 0;

  constructor(collector: Collector, charactersOf: (event: ChatEvent) => number) {
    this.collector = collector;
    this.#charactersOf = charactersOf;
  }

  get isTooLarge(): boolean {
    return this.#characters > storedAnswerCharacters;
  }

  add(events: readonly ChatEvent[]): void {
    for (const event of events) {
      this.#characters += this.#charactersOf(event);
      if (!this.isTooLarge) this.collector.add(event);
    }
  }
}

/** Returns a warning for the client if the answer could not be stored. Never rejects. */
export type SaveAnswer = () => Promise<ChatEvent | undefined>;

/** Stores answers before their end is sent, so that the client can then read them back. */
export class AnswerSaver {
  readonly #saving = new Set<Promise<unknown>>();

  /** The run, whose stream ends with what `save` returns. An answer that fails or is cut off is not saved. */
  storing(started: StartedRun, bounded: Pick<BoundedCollector<AnswerCollector>, 'add'>, saveAnswer: SaveAnswer): StartedRun {
    return {
      ...started,
      stream: async (emit) => {
        await started.stream((events) => {
          bounded.add(events);
          return emit(events);
        });
        if (started.run.signal.aborted) return;
        const problem = await this.save(saveAnswer);
        if (problem !== undefined) await emit([problem]);
      },
    };
  }

  async save(saveAnswer: SaveAnswer): Promise<ChatEvent | undefined> {
    const saved = saveAnswer();
    this.#saving.add(saved);
    const problem = await saved;
    this.#saving.delete(saved);
    return problem;
  }

  /** Resolves when everything so far is durable. */
  async settled(): Promise<void> {
    await Promise.all(this.#saving);
  }
}

export function warnTooLarge(log: { warn(fields: object, message: string): void }, fields: object, what: string): ChatEvent {
  log.warn(fields, `${what} was not stored: ${tooLargeToStore}`);
  return notStored(tooLargeToStore);
}
