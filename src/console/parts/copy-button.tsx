import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { announce, showError } from './toasts.tsx';

const shownMs = 1_500;

interface CopyButtonProps {
  /** Called when the button is pressed. */
  text: () => string;
  label?: string;
  /** Shown beside the icon if it copies something else than what is beside it. */
  words?: string;
}

export function CopyButton({ text, label = 'Copy', words }: CopyButtonProps): JSX.Element {
  const [isDone, setDone] = useState(false);
  const copy = async (): Promise<void> => {
    // Missing in pages without TLS, except on loopback addresses.
    const { clipboard } = navigator as { clipboard?: Clipboard };
    if (clipboard === undefined)
      throw new Error('Browsers allow copying only over HTTPS or on localhost. Select the text and copy it yourself.');
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
