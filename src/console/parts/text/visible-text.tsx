import type { JSX } from 'preact';
import { Breakable } from './breakable.tsx';
import { splitUnseen } from './unseen-characters.ts';

/**
 * Untrusted text without hidden content: invisible characters are replaced by a mark with their code point. `isName`: the name of a function, with line breaks
 * between its words.
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
