import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../../parts/button.tsx';

export const credentialKinds = [
  ['none', 'None'],
  ['bearer', 'A key for everybody'],
  ['own', 'A key of each person'],
  ['oauth', 'Each person signs in (OAuth)'],
] as const;
export type CredentialKind = (typeof credentialKinds)[number][0];

/** The fields of a connection for it. */
export function authOf(kind: CredentialKind, key: string): Record<string, unknown> {
  if (kind === 'bearer') return { auth_type: 'bearer', key };
  if (kind === 'own') return { auth_type: 'bearer', per_user: true };
  return kind === 'oauth' ? { auth_type: 'oauth' } : {};
}

/** A key is tried when it is whole: a server may lock out whoever sends many wrong ones. */
export function KeyField({ action, onKey }: { action: string; onKey: (key: string) => void }): JSX.Element {
  const [draft, setDraft] = useState('');
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.focus(), []);
  return (
    <form
      class="key-field"
      onSubmit={(event) => {
        event.preventDefault();
        onKey(draft);
      }}
    >
      <label class="field grow">
        Key
        <input
          ref={input}
          type="password"
          required
          value={draft}
          onInput={(event) => setDraft(event.currentTarget.value)}
          autocomplete="off"
        />
      </label>
      <Button type="submit">{action}</Button>
      <p class="soft small">It is encrypted, goes to this server alone, and is not shown again.</p>
    </form>
  );
}
