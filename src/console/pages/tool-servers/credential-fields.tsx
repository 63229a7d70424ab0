import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../../parts/button.tsx';

const credentialKinds = [
  ['none', 'None'],
  ['bearer', 'Shared API key'],
  ['per-user', 'One key per user'],
  ['oauth', 'OAuth sign-in per user'],
] as const;
export type CredentialKind = (typeof credentialKinds)[number][0];

/** The connection fields for a kind of credential. */
export function authOf(kind: CredentialKind, key: string): Record<string, unknown> {
  if (kind === 'bearer') return { auth_type: 'bearer', key };
  if (kind === 'per-user') return { auth_type: 'bearer', per_user: true };
  return kind === 'oauth' ? { auth_type: 'oauth' } : {};
}

interface CredentialFieldProps {
  credential: CredentialKind;
  isDisabled: boolean;
  onChange: (chosen: CredentialKind) => void;
}

export function CredentialField({ credential, isDisabled, onChange }: CredentialFieldProps): JSX.Element {
  return (
    <label class="field">
      Authentication
      <select value={credential} disabled={isDisabled} onChange={(event) => onChange(event.currentTarget.value as CredentialKind)}>
        {credentialKinds.map(([value, label]) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
    </label>
  );
}

/** A key is only tried when it is complete, because a server may block callers that send many wrong keys. */
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
        API key
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
      <p class="soft small">Stored encrypted, sent only to this server, and never shown again.</p>
    </form>
  );
}
