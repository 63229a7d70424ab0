import { Component } from 'preact';
import type { ComponentChild, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { CopyButton } from './copy-button.tsx';
import type { CodeSpan } from './render/render-messages.ts';

interface CodeBlockProps {
  code: string;
  language?: string | undefined;
  /** Continues the code above it, so it has no header. */
  isContinued?: boolean;
  /** The text to copy, if `code` is only the beginning. */
  whole?: () => string;
}

/** Code with its language, its colours and a copy button. */
export function CodeBlock({ code, language, isContinued = false, whole = () => code }: CodeBlockProps): JSX.Element {
  const coloured = useColours(code, language ?? '');
  return (
    <div class={isContinued ? 'code-block continued' : 'code-block'}>
      {!isContinued && (
        <div class="code-head">
          <span>{language ?? ''}</span>
          <CopyButton text={whole} label="Copy code" />
        </div>
      )}
      <pre dir="ltr" tabIndex={0} role="group" aria-label={language === undefined || language === '' ? 'Code' : `Code in ${language}`}>
        <code>
          {coloured !== undefined && <Spans spans={coloured.spans} />}
          {coloured === undefined ? code : code.slice(coloured.code.length)}
        </code>
      </pre>
    </div>
  );
}

/** Longer code has no colours: it would be too many elements. Answers show longer code in pieces. */
const maxCharacters = 20_000;
/** Growing code is coloured this often. */
const againMs = 400;

interface Coloured {
  code: string;
  spans: readonly CodeSpan[];
}

/** The colours of the code, or of its beginning while it grows. Undefined until they are known. */
function useColours(code: string, language: string): Coloured | undefined {
  const [coloured, setColoured] = useState<Coloured>();
  const wanted = useRef(code);
  const isBusy = useRef(false);
  wanted.current = code;
  useEffect(() => {
    if (language === '' || code === '' || code.length > maxCharacters || isBusy.current || coloured?.code === code) return;
    isBusy.current = true;
    void import('./render/render-aside.ts')
      .then(({ renderAside }) => renderAside({ kind: 'code', code, language }))
      .then((spans) => {
        // Of an unknown language, nothing is asked for again.
        if (spans === undefined) return;
        setColoured({ code, spans });
        setTimeout(() => {
          isBusy.current = false;
          if (wanted.current !== code) setColoured((before) => before && { ...before });
        }, againMs);
      });
  }, [code, language, coloured]);
  return coloured !== undefined && code.startsWith(coloured.code) ? coloured : undefined;
}

/** Only rendered again for other spans. */
class Spans extends Component<{ spans: readonly CodeSpan[] }> {
  override shouldComponentUpdate({ spans }: { spans: readonly CodeSpan[] }): boolean {
    return spans !== this.props.spans;
  }

  override render(): ComponentChild {
    return this.props.spans.map(([kind, text], index) =>
      kind === '' ? (
        text
      ) : (
        <span key={index} class={`code-${kind}`}>
          {text}
        </span>
      ),
    );
  }
}
