import type { JSX } from 'preact';
import { Command } from './text/with-code.tsx';

/** A key that was just created, which nobody can read again, and a link that signs a person in with it. */
export function NewKey({ created }: { created: string }): JSX.Element {
  return (
    <>
      <p>Copy it now. It is shown only once and cannot be recovered.</p>
      <p class="new-key">
        <Command text={created} label="Copy key" />
      </p>
      <p>For a person, send this link instead. It opens the console and signs them in:</p>
      <p class="new-key-link">
        <Command text={`${location.origin}/#key=${encodeURIComponent(created)}`} label="Copy sign-in link" />
      </p>
    </>
  );
}
