import { limits } from '../../core/limits.ts';

const lineFeed = '\n';
const prefix = /^data: ?/u;

/**
 * The JSON of an answer that has no event fields, although it was sent as events: one chunk on each line, or a whole answer. If the first line is no JSON
 * of its own, everything is one text.
 */
export class BareChunks {
  /** A text is longer than a line may be. */
  isTooLong = false;
  readonly #isJson: (text: string) => boolean;
  readonly #decoder = new TextDecoder();
  #rest = '';
  #areLines: boolean | undefined;

  constructor(isJson: (text: string) => boolean) {
    this.#isJson = isJson;
  }

  /** The texts that are complete. */
  read(piece: Uint8Array): string[] {
    const texts = this.#split(this.#decoder.decode(piece, { stream: true }));
    this.isTooLong ||= this.#rest.length > limits.upstreamLineBytes;
    return texts;
  }

  end(): string[] {
    const texts = this.#split(`${this.#decoder.decode()}${lineFeed}`);
    const rest = this.#rest.trim();
    this.#rest = '';
    return rest === '' ? texts : [...texts, rest];
  }

  #split(piece: string): string[] {
    if (this.#areLines === false || !piece.includes(lineFeed)) {
      this.#rest += piece;
      return [];
    }
    const [first = '', ...others] = (this.#rest + piece).split(lineFeed);
    this.#areLines ??= first.trim() === '' ? undefined : this.#isJson(first);
    if (this.#areLines === false) {
      this.#rest += piece;
      return [];
    }
    this.#rest = others.pop() ?? '';
    return [first, ...others].map((line) => line.trim().replace(prefix, '')).filter((line) => line !== '');
  }
}

/** Judges the first byte that is neither white space nor part of a byte order mark. Undefined: there is none yet. */
export function isBareJson(piece: Uint8Array): boolean | undefined {
  const first = piece.find((byte) => byte > 0x20 && byte < 0x80);
  return first === undefined ? undefined : first === 0x7b || first === 0x5b;
}
