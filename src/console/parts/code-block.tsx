import type { JSX } from 'preact';
import { CopyButton } from './copy-button.tsx';

/** Code as it is, with what language it is in and a way to copy it. */
export function CodeBlock({ code, language }: { code: string; language?: string | undefined }): JSX.Element {
  return (
    <div class="code-block">
      <div class="code-head">
        <span>{language ?? ''}</span>
        <CopyButton text={() => code} label="Copy this code" />
      </div>
      <pre tabIndex={0} role="group" aria-label={language === undefined || language === '' ? 'Code' : `Code in ${language}`}>
        <code>{code}</code>
      </pre>
    </div>
  );
}
