import type { AnswerText } from './answer-text.ts';

/** Marks that may stand at a position, found in one step however many there are. No mark may be the beginning of a later one. */
export class MarkTable<Entry extends { open: string }> {
  readonly #byOpen: ReadonlyMap<string, Entry>;
  readonly #pattern: RegExp;
  readonly #longest: number;
  /** All proper prefixes of marks: text that ends with one may continue as a mark. */
  readonly #beginnings: ReadonlySet<string>;

  constructor(entries: readonly Entry[]) {
    const opens = entries.map(({ open }) => open);
    this.#byOpen = new Map(entries.toReversed().map((entry) => [entry.open, entry]));
    this.#pattern = new RegExp(patternOf(opens), 'y');
    this.#longest = Math.max(...opens.map(({ length }) => length));
    this.#beginnings = new Set(opens.flatMap((open) => Array.from(open, (_, index) => open.slice(0, index)).slice(1)));
  }

  at(input: AnswerText, position: number): Entry | undefined {
    const { text } = input;
    if (text.length < position + this.#longest && this.#beginnings.has(text.slice(position))) input.need(text.length);
    this.#pattern.lastIndex = position;
    const match = this.#pattern.exec(text);
    return match === null ? undefined : this.#byOpen.get(match[0]);
  }
}

/** A pattern that matches one of the texts. */
export function patternOf(texts: readonly string[]): string {
  return texts.map((text) => text.replaceAll(/[[|\].?*+(){}^$/]/g, String.raw`\$&`)).join('|');
}
