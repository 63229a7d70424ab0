import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';

interface MoreFieldsProps {
  summary: string;
  /** Whether one of them is filled in when the form opens; what is emptied later does not close under one's hands. */
  isUsed: boolean;
  children: ComponentChildren;
}

/** Fields that few forms need, folded. */
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
