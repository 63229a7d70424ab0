import type { JSX } from 'preact';
import { CopyButton } from './copy-button.tsx';

interface CodeBlockProps {
  code: string;
  language?: string | undefined;
  /** Goes on with the code above it, and has no head of its own. */
  isContinued?: boolean;
  /** What is copied, where `code` is only the beginning. */
  whole?: () => string;
}

/** Code as it is, with what language it is in and a way to copy it. */
export function CodeBlock({ code, language, isContinued = false, whole = () => code }: CodeBlockProps): JSX.Element {
  return (
    <div class={isContinued ? 'code-block continued' : 'code-block'}>
      {!isContinued && (
        <div class="code-head">
          <span>{language ?? ''}</span>
          <CopyButton text={whole} label="Copy this code" />
        </div>
      )}
      <pre tabIndex={0} role="group" aria-label={language === undefined || language === '' ? 'Code' : `Code in ${language}`}>
        <code>{code}</code>
      </pre>
    </div>
  );
}
