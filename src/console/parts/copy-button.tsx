import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { announce, showError } from './toasts.tsx';

const shownMs = 1_500;

interface CopyButtonProps {
  /** Made when it is pressed. */
  text: () => string;
  label?: string;
  /** Beside the icon, for what is less usual than to copy what is beside it. */
  words?: string;
}

export function CopyButton({ text, label = 'Copy', words }: CopyButtonProps): JSX.Element {
  const [isDone, setDone] = useState(false);
  const copy = async (): Promise<void> => {
    // Absent in pages without TLS on other addresses than loopback.
    const { clipboard } = navigator as { clipboard?: Clipboard };
    if (clipboard === undefined) throw new Error('This browser lets pages copy only over HTTPS, or on the machine of the gateway.');
    await clipboard.writeText(text());
    setDone(true);
    announce('Copied');
    setTimeout(() => setDone(false), shownMs);
  };
  return (
    <Button
      kind="quiet"
      isSmall
      icon={isDone ? 'check' : 'copy'}
      label={isDone ? 'Copied' : label}
      onClick={() => void copy().catch(showError)}
    >
      {words}
    </Button>
  );
}
