/** The end of one run, for those who wait for it. An `AbortController` would cost each run more than its log. */
export class RunEnd {
  #waiting: (() => void)[] | undefined = [];

  /** `tell` must not throw; it is called at once where the run is over already. */
  readonly whenOver = (tell: () => void): void => {
    if (this.#waiting === undefined) tell();
    else this.#waiting.push(tell);
  };

  come(): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const tell of waiting) tell();
  }
}
