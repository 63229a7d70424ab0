import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';

interface MoreFieldsProps {
  summary: string;
  /** Whether one of the fields is set when the form opens. The fields do not fold when it is cleared later. */
  isUsed: boolean;
  children: ComponentChildren;
}

/** Folded fields that are rarely needed. */
export function MoreFields({ summary, isUsed, children }: MoreFieldsProps): JSX.Element {
  const [isOpen, setOpen] = useState(isUsed);
  return (
    <details
      class="more-fields"
      open={isOpen}
      onToggle={(event) => event.target === event.currentTarget && setOpen(event.currentTarget.open)}
    >
      <summary>{summary}</summary>
      {children}
    </details>
  );
}
