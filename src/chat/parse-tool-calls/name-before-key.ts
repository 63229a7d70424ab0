import { plainName } from './answer-pieces.ts';
import type { PieceWriter } from './piece-writer.ts';
import type { ReadContext } from './read-context.ts';

/** A name at the beginning of a line, and nothing after it. */
const nameAtEnd = /(?:^|\n)[ \t]{0,9}([\w./-]{1,256})(\s{0,32})$/;
const longestMatch = 300;

/**
 * Where the name stands that is the last line of the text before `at`, if it is the name of an offered function: the key that begins there makes it a
 * call without its opening tag. If nothing has arrived at `at` yet (`open` is empty), a part of a name counts, so that it is held back. Else `at`.
 */
export function nameBeforeKey(
  { isOffered, isKnown, beginsName }: ReadContext,
  { input, cursor, lastCharacter }: PieceWriter,
  { at, open, isNative }: { at: number; open: string; isNative: boolean },
): number {
  const isAwaited = open === '';
  if (isAwaited && input.isEnded) return at;
  const from = Math.max(cursor, at - longestMatch);
  const [line, name, space] = nameAtEnd.exec(input.text.slice(from, at)) ?? [];
  if (line === undefined || name === undefined || space === undefined) return at;
  const isAtLineStart = line.startsWith('\n') || (from === cursor && ['', '\n'].includes(lastCharacter));
  if (!isAtLineStart) return at;
  const isWhole = isNative ? isOffered(plainName(name)) : isKnown(plainName(name));
  return isWhole || (isAwaited && space === '' && beginsName(name)) ? at - space.length - name.length : at;
}
