/** A few characters to look for. An expression would cost more than all else in a piece of a few characters. */
export class CharacterSet {
  /** By code, 1 for each of them. */
  readonly #table: Uint8Array;

  private constructor(characters: string) {
    const codes = characters.split('').map((character) => character.charCodeAt(0));
    this.#table = new Uint8Array(Math.max(...codes) + 1);
    for (const code of codes) this.#table[code] = 1;
  }

  static of(characters: string): CharacterSet {
    const known = sets.get(characters);
    if (known !== undefined) return known;
    if (sets.size >= maxSets) sets.clear();
    const made = new CharacterSet(characters);
    sets.set(characters, made);
    return made;
  }

  /** Where one of them stands at or after `from`. */
  indexIn(text: string, from: number): number | undefined {
    for (let at = from; at < text.length; at += 1) if (this.#table[text.charCodeAt(at)] === 1) return at;
    return undefined;
  }
}

/** There are few: what may begin something, and what ends a thought or a fence. */
const sets = new Map<string, CharacterSet>();
const maxSets = 100;
