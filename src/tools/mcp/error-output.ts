import { stripVTControlCharacters } from 'node:util';
import { limits } from '../../core/limits.ts';
import { redactUrl } from '../../shared/secrets/secret-urls.ts';

/** The end of what a process has written to stderr. */
export interface ErrorOutput {
  add(chunk: Uint8Array): void;
  /** The last lines for people to read. `hide` takes credentials out of a line, before it is shortened. */
  lines(hide: (line: string) => string): string[];
}

/** What a terminal would obey, and what turns the direction of text. Line ends are not among them. */
const controlCharacters = /(?!\n)[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

export function createErrorOutput(): ErrorOutput {
  let tail = Buffer.alloc(0);
  let isCut = false;

  return {
    add(chunk) {
      const all = Buffer.concat([tail, chunk]);
      isCut ||= all.length > limits.mcpErrorOutputBytes;
      // A copy: a part would keep the whole chunk.
      tail = Buffer.from(all.subarray(-limits.mcpErrorOutputBytes));
    },
    lines(hide) {
      const text = tail.toString('utf8');
      // The first line may have lost its beginning, and a credential that lost its own would not be recognised.
      const whole = isCut ? text.slice(text.indexOf('\n') + 1 || text.length) : text;
      return whole
        .split(/\r\n?|\n/)
        .map((line) => hide(redactUrl(stripVTControlCharacters(line).replaceAll(controlCharacters, ''))).trim())
        .filter((line) => line !== '')
        .slice(-limits.mcpErrorOutputLines)
        .map((line) => line.slice(0, limits.mcpErrorOutputLineCharacters).toWellFormed());
    },
  };
}
