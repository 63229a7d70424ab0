import { jsonrepair } from 'jsonrepair';
import type { JsonValue } from '../../../shared/json/json.ts';
import { parseStrictly } from './parse-json.ts';

/** Characters. Repair takes quadratic time in the worst case, so longer texts are parsed strictly or not at all. */
export const maxMendable = 32 * 1024;
/** Characters that are repaired of one answer, all its texts together. */
const maxPerAnswer = 64 * 1024;
/** Characters of them that are repaired on the main thread: thirty milliseconds in the worst case. */
export const repairedInPlace = 8 * 1024;

/** A backslash that begins no escape (`\d`, `C:\Users`) is kept literally. The repair would drop it, and the call would run with another value. */
const strayBackslash = /\\(?:(["\\/bfnrt'\n\r]|u[\da-fA-F]{4})|(?=.))/g;

/** A JavaScript template literal with a substitution as a value: the repair would turn it into a plain string. */
const filledInText = /["']\s{0,9}:\s{0,9}`[^`\n]{0,999}\$\{/;

/**
 * Whether a comment has brackets behind it on its line: the repair would drop whatever else the line holds, and the call would run without it. An
 * address (`https://…`) begins no comment.
 */
function hasSwallowingComment(text: string): boolean {
  let quote = '';
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charAt(at);
    if (quote !== '') {
      if (character === '\\') at += 1;
      else if (character === quote) quote = '';
    } else if (character === '"' || character === "'") quote = character;
    else if (character === '/' && text.charAt(at + 1) === '/' && text.charAt(at - 1) !== ':') {
      const end = text.indexOf('\n', at);
      const comment = text.slice(at, end === -1 ? text.length : end);
      if (/[}\]]/.test(comment)) return true;
      at += comment.length;
    }
  }
  return false;
}

/** Undefined if the text cannot be repaired. It must be complete: the repair would complete a truncated call, which must not run. */
export function repairJson(text: string): JsonValue | undefined {
  if (filledInText.test(text) || hasSwallowingComment(text)) return undefined;
  try {
    return parseStrictly(jsonrepair(text.replaceAll(strayBackslash, (found, escape) => (escape === undefined ? '\\\\' : found))));
  } catch {
    return undefined;
  }
}

/** The same for a worker thread, as JSON text: sending objects would lose the digits of an `ExactNumber`. */
export function repairJsonAsText(text: string): string | undefined {
  const value = repairJson(text);
  return value === undefined ? undefined : JSON.stringify(value);
}

/** `value`: undefined if the text cannot be repaired, or not within the budget. */
interface RepairedJson {
  value: JsonValue | undefined;
}

/**
 * The repairs of one answer, which share a budget of characters: a model may repeat any number of texts that look like damaged calls. Each text is
 * repaired once, however often the answer is read.
 */
export class AnswerRepairs {
  /** Made with the first text. */
  #repaired: Map<string, RepairedJson> | undefined;
  #left = maxPerAnswer;
  #leftInPlace: number;
  #awaited: string | undefined;

  /** `inPlace`: how many characters are repaired at once; further texts are left to whoever reads `awaited`. Default: all. */
  constructor({ inPlace = maxPerAnswer }: { inPlace?: number } = {}) {
    this.#leftInPlace = inPlace;
  }

  /** A text that has to be repaired elsewhere before the answer is read on. */
  get awaited(): string | undefined {
    return this.#awaited;
  }

  /** `not_known_yet`: see `awaited`. */
  repair(text: string): RepairedJson | 'not_known_yet' {
    const known = this.#repaired?.get(text);
    if (known !== undefined) return known;
    if (text.length > maxMendable || text.length > this.#left) return { value: undefined };
    if (text.length > this.#leftInPlace) {
      this.#awaited = text;
      return 'not_known_yet';
    }
    this.#leftInPlace -= text.length;
    return this.#keep(text, { value: repairJson(text) });
  }

  /** What became of the awaited text. */
  settle(value: JsonValue | undefined): void {
    if (this.#awaited !== undefined) this.#keep(this.#awaited, { value });
    this.#awaited = undefined;
  }

  #keep(text: string, repaired: RepairedJson): RepairedJson {
    this.#left -= text.length;
    (this.#repaired ??= new Map()).set(text, repaired);
    return repaired;
  }
}
