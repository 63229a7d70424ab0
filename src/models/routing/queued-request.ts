/** Events that tell one request its place: whoever waits longer learns nothing from a hundred others. */
const mostTold = 100;

interface QueuedFor<Address> {
  model: string;
  owner: string;
  /** Addresses at which the request has failed. */
  tried: ReadonlySet<Address>;
}

/** A request that waits for a slot, and tells its place in the queue. */
export class QueuedRequest<Address> {
  readonly model: string;
  readonly owner: string;
  readonly tried: ReadonlySet<Address>;
  /** The address at which it has got a slot. */
  served: Address | undefined;
  #refusal: Error | undefined;
  #place = 0;
  #wake: (() => void) | undefined;

  constructor({ model, owner, tried }: QueuedFor<Address>) {
    this.model = model;
    this.owner = owner;
    this.tried = tried;
  }

  serve(address: Address): void {
    this.served = address;
    this.#wake?.();
  }

  refuse(refusal: Error): void {
    this.#refusal = refusal;
    this.#wake?.();
  }

  moveTo(place: number): void {
    if (place === this.#place) return;
    this.#place = place;
    this.#wake?.();
  }

  /**
   * Waits for the slot. Changes of the place while a slow reader takes the one before are told as one.
   * @throws the refusal; the signal's reason; what `onPlace` throws
   */
  async wait(signal: AbortSignal, onPlace?: (place: number) => Promise<void> | undefined): Promise<Address> {
    const onAbort = (): void => this.#wake?.();
    signal.addEventListener('abort', onAbort, { once: true });
    let told = 0;
    let count = 0;
    try {
      for (;;) {
        signal.throwIfAborted();
        if (this.#refusal !== undefined) throw this.#refusal;
        if (this.served !== undefined) break;
        if (this.#place !== told && count < mostTold) {
          told = this.#place;
          count += 1;
          await onPlace?.(told);
          continue;
        }
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        this.#wake = undefined;
      }
      if (told > 0) await onPlace?.(0);
      return this.served;
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }
}
