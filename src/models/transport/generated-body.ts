import type { EndOfBody, OutboundBody } from '../../core/outbound.ts';

/** The body of an answer that is read through a generator, such as one that decompresses another body. */
export class GeneratedBody implements OutboundBody {
  readonly #pieces: AsyncGenerator<Uint8Array, void>;
  readonly #source: OutboundBody;
  #isClosed = false;

  constructor(pieces: AsyncGenerator<Uint8Array, void>, source: OutboundBody) {
    this.#pieces = pieces;
    this.#source = source;
  }

  async readEach(take: (piece: Uint8Array) => Promise<void> | undefined): Promise<EndOfBody> {
    for (;;) {
      const next = await this.#next();
      if ('failure' in next) return this.#isClosed ? {} : next;
      if (next.done === true || this.#isClosed) return {};
      try {
        const slow = take(next.value);
        if (slow !== undefined) await slow;
      } catch (error) {
        this.close();
        throw error;
      }
    }
  }

  /** The failure is a value, because what `take` throws is none of the body. */
  async #next(): Promise<IteratorResult<Uint8Array, void> | { failure: unknown }> {
    try {
      return await this.#pieces.next();
    } catch (failure) {
      return { failure };
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#source.close();
  }

  [Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void> {
    return this.#pieces;
  }
}
