import { Fragment } from 'preact';
import type { JSX } from 'preact';

/** A name such as `TOOLWHARF_ADMIN_KEY`, with line breaks between its words. */
export function Breakable({ text }: { text: string }): JSX.Element {
  const words = text.split(/(?<=[_/.:-])/);
  return (
    <>
      {words.map((word, index) => (
        <Fragment key={index}>
          {index > 0 && <wbr />}
          {word}
        </Fragment>
      ))}
    </>
  );
}
