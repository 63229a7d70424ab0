import type { JSX } from 'preact';
import { CopyButton } from './copy-button.tsx';

interface CodeBlockProps {
  code: string;
  language?: string | undefined;
  /** Continues the code above it, so it has no header. */
  isContinued?: boolean;
  /** The text to copy, if `code` is only the beginning. */
  whole?: () => string;
}

/** Code with its language and a copy button. */
export function CodeBlock({ code, language, isContinued = false, whole = () => code }: CodeBlockProps): JSX.Element {
  return (
    <div class={isContinued ? 'code-block continued' : 'code-block'}>
      {!isContinued && (
        <div class="code-head">
          <span>{language ?? ''}</span>
          <CopyButton text={whole} label="Copy code" />
        </div>
      )}
      <pre dir="ltr" tabIndex={0} role="group" aria-label={language === undefined || language === '' ? 'Code' : `Code in ${language}`}>
        <code>{code}</code>
      </pre>
    </div>
  );
}
