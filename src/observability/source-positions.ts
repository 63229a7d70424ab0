import { readFileSync } from 'node:fs';
import { LRUCache } from 'lru-cache';

interface SourceMap {
  sources: string[];
  mappings: string;
}

/** The folder of the program: `src`, or the bundle. */
const program = new URL('..', import.meta.url).href;
const position = /\bfile:\/\/[^\s()?]+\.js:\d+:\d+/g;
/** Finding a position takes a few milliseconds, and the same ones come again. */
const known = new LRUCache<string, string>({ max: 1_000 });

/**
 * A stack with positions in the sources instead of the bundle; nothing changes without a bundle. Node could do so by itself, but only if it reads all
 * source maps at the start, which takes 80 ms and 22 MB.
 */
export function withSourcePositions(stack: string): string {
  return stack.replaceAll(position, (found) => {
    // A message may contain anything, also a path out of the folder.
    if (!found.startsWith(program) || found.includes('/..')) return found;
    const source = known.get(found) ?? sourcePosition(found) ?? found;
    known.set(found, source);
    return source;
  });
}

function sourcePosition(found: string): string | undefined {
  const [, url = '', line, column] = /^(.*):(\d+):(\d+)$/.exec(found) ?? [];
  try {
    const { sources, mappings } = JSON.parse(readFileSync(new URL(`${url}.map`), 'utf8')) as SourceMap;
    const origin = findOrigin(mappings, Number(line) - 1, Number(column) - 1);
    const source = origin && sources[origin.source];
    return source && `${new URL(source, url).href}:${origin.line + 1}:${origin.column + 1}`;
  } catch {
    // Without a map the position in the bundle is better than nothing.
    return undefined;
  }
}

interface Origin {
  /** An index in `sources`. */
  source: number;
  line: number;
  column: number;
}

/** Where the code at a position, or what begins before it, comes from (ECMA-426). All lines and columns count from 0. */
function findOrigin(mappings: string, line: number, column: number): Origin | undefined {
  const origin: Origin = { source: 0, line: 0, column: 0 };
  let found: Origin | undefined;
  for (const [index, segments] of mappings.split(';', line + 1).entries()) {
    let start = 0;
    for (const segment of segments === '' ? [] : segments.split(',')) {
      const [toStart = 0, toSource, toLine = 0, toColumn = 0] = readDifferences(segment);
      start += toStart;
      if (index === line && start > column) return found;
      if (toSource === undefined) continue;
      origin.source += toSource;
      origin.line += toLine;
      origin.column += toColumn;
      if (index === line) found = { ...origin };
    }
  }
  return found;
}

const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/** Numbers in base 64, five bits a digit, the least first; the sixth bit says that another digit follows, the lowest of all is the sign. */
function readDifferences(segment: string): number[] {
  const numbers: number[] = [];
  let value = 0;
  let shift = 0;
  for (const character of segment) {
    const digit = digits.indexOf(character);
    value += (digit % 32) * 2 ** shift;
    shift += 5;
    if (digit >= 32) continue;
    numbers.push(value % 2 === 1 ? -(value - 1) / 2 : value / 2);
    value = 0;
    shift = 0;
  }
  return numbers;
}
