import type { JSX } from 'preact';
import { CopyButton } from '../copy-button.tsx';

/** A message of the gateway with `code` in backticks. Code with spaces is a command that can be copied. */
export function WithCode({ text }: { text: string }): JSX.Element {
  return (
    <>
      {text.split('`').map((part, index) => {
        if (index % 2 === 0) return part;
        return part.includes(' ') ? <Command key={index} text={part} /> : <code key={index}>{part}</code>;
      })}
    </>
  );
}

/** A command or another text to copy. */
export function Command({ text, label = `Copy ${text}` }: { text: string; label?: string }): JSX.Element {
  return (
    <span class="command">
      <code>{text}</code>
      <CopyButton text={() => text} label={label} />
    </span>
  );
}
