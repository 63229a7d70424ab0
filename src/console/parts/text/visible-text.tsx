import type { JSX } from 'preact';
import { Breakable } from './breakable.tsx';
import { splitUnseen } from './unseen-characters.ts';

/**
 * Foreign text of which nothing stays hidden: characters that cannot be seen have a mark with their number in their place. `isName`: of a function,
 * whose lines break between its words.
 */
export function VisibleText({ text, isName = false }: { text: string; isName?: boolean }): JSX.Element {
  return (
    <>
      {splitUnseen(text, { isName }).map((part, index) =>
        typeof part === 'string' ? (
          isName ? (
            <Breakable key={index} text={part} />
          ) : (
            part
          )
        ) : (
          <mark key={index} class="unseen-mark" title={part.name}>
            {part.code}
          </mark>
        ),
      )}
    </>
  );
}
