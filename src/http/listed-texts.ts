import { setImmediate as nextTick } from 'node:timers/promises';
import type { ListedTool } from '../core/tools/tool.ts';

/** What is written in one tick of the event loop: little, because a schema may have been cut out of one of a megabyte. */
const charactersPerTick = 16 * 1024;

/** JSON of the functions of a list, one after the other. */
class ListText {
  readonly #bytes: Buffer;
  /** Where each function ends, with its comma; where it has no text, as the one before. */
  readonly #ends: readonly number[];

  constructor(bytes: Buffer, ends: readonly number[]) {
    this.#bytes = bytes;
    this.#ends = ends;
  }

  /** The functions of these positions, separated by commas. Not a copy. */
  part(from = 0, to = this.#ends.length): Buffer {
    const start = this.#endBefore(from);
    return this.#bytes.subarray(start, Math.max(start, this.#endBefore(to) - 1));
  }

  /** How far a part from this position may go, to have at least this size if there is as much. */
  pageEnd(from: number, bytes: number): number {
    const start = this.#endBefore(from);
    const last = this.#ends.findIndex((end, index) => index >= from && end - start >= bytes);
    return last === -1 ? this.#ends.length : last + 1;
  }

  #endBefore(position: number): number {
    return this.#ends[position - 1] ?? 0;
  }
}

/** What is written of a list: one text, or one for each place where its functions appear. */
type Written<Parts extends string> = Readonly<Record<Parts, ListText>>;

export interface ListedTexts<Parts extends string> {
  /** The texts of a list. They are written once, in many ticks of the event loop. */
  of(listed: readonly ListedTool[]): Promise<Written<Parts>>;
}

/**
 * Writes lists of functions once, and keeps their texts for as long as the catalog keeps the list (`ToolFinder.list`), which bounds them: whoever reads a
 * list again, or a page of it, costs hardly more than the bytes that are sent.
 */
export function createListedTexts<Parts extends string>(
  parts: readonly Parts[],
  write: (tool: ListedTool, listed: readonly ListedTool[]) => Readonly<Record<Parts, string>>,
): ListedTexts<Parts> {
  const kept = new WeakMap<readonly ListedTool[], Promise<Written<Parts>>>();

  async function writeAll(listed: readonly ListedTool[]): Promise<Written<Parts>> {
    const texts = parts.map((part) => ({ part, pieces: [] as Buffer[], size: 0, ends: [] as number[] }));
    let inThisTick = 0;
    for (const tool of listed) {
      const written = write(tool, listed);
      for (const text of texts) {
        const json = written[text.part];
        if (json !== '') text.pieces.push(Buffer.from(`${json},`));
        text.size += json === '' ? 0 : (text.pieces.at(-1)?.length ?? 0);
        text.ends.push(text.size);
        inThisTick += json.length;
      }
      if (inThisTick < charactersPerTick) continue;
      inThisTick = 0;
      await nextTick();
    }
    const entries = texts.map(({ part, pieces, size, ends }) => [part, new ListText(Buffer.concat(pieces, size), ends)]);
    return Object.fromEntries(entries) as Written<Parts>;
  }

  return {
    of(listed) {
      const known = kept.get(listed);
      if (known !== undefined) return known;
      const writing = writeAll(listed);
      kept.set(listed, writing);
      writing.catch(() => kept.delete(listed));
      return writing;
    },
  };
}
