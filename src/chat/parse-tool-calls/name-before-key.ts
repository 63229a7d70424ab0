import { plainName } from './answer-pieces.ts';
import type { PieceWriter } from './piece-writer.ts';
import type { ReadContext } from './read-context.ts';

/** A name at the beginning of a line or right after a sentence, with nothing after it. */
const nameAtEnd = /(?:^|[\n.!?:])([\w./-]{1,256})(\s{0,32})$/;
const edge = /^[\n.!?:]/;
const isEdge = (character: string): boolean => character === '' || edge.test(character);
const longestMatch = 300;

/**
 * Where the name stands with which the text before `at` ends, if it is the name of an offered function: the key that begins there makes it a
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
  const isAtEdge = edge.test(line) || (from === cursor && isEdge(lastCharacter));
  if (!isAtEdge) return at;
  const mayBeName = (written: string): boolean =>
    (isNative ? isOffered : isKnown)(plainName(written)) || (isAwaited && space === '' && written !== '' && beginsName(written));
  // The point behind a sentence may as well be part of a name.
  const found = [name, name.slice(name.lastIndexOf('.') + 1)].find((written) => mayBeName(written));
  return found === undefined ? at : at - space.length - found.length;
}
