/**
 * Follows running text and knows whether it stands in a code span or a fenced block, as far as that can be known without reading ahead:
 * a run of backticks opens code until a run of the same length, or at least that for a fence; a span ends with its line at the latest.
 */
export class CodeTracker {
  #open = 0;
  #run = 0;

  read(text: string): void {
    for (const character of text) {
      if (character === '`') {
        this.#run += 1;
        continue;
      }
      this.#endRun();
      if (character === '\n' && this.#open < 3) this.#open = 0;
    }
  }

  isInside(): boolean {
    this.#endRun();
    return this.#open > 0;
  }

  #endRun(): void {
    if (this.#run === 0) return;
    const isEnd = this.#open >= 3 ? this.#run >= this.#open : this.#run === this.#open;
    if (isEnd) this.#open = 0;
    else if (this.#open === 0) this.#open = this.#run;
    this.#run = 0;
  }
}
