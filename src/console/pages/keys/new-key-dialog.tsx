import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { call } from '../../api/request.ts';
import { key as ownKey, keepKey } from '../../api/key.ts';
import { Button } from '../../parts/button.tsx';
import { CopyButton } from '../../parts/copy-button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Problem } from '../../parts/states.tsx';

const kinds = [
  ['user', 'A program or a person', 'Chats and calls tools; changes nothing.'],
  ['people', 'A frontend with many people', 'Each of its people has chats, limits and accounts of their own.'],
  ['admin', 'An administrator', 'May change everything.'],
] as const;
type Kind = (typeof kinds)[number][0];

/** Makes a key, and shows it this once. `isFirst`: it has to be an administrator's, and ends the open gateway. */
export function NewKeyDialog({ isFirst, onClose }: { isFirst: boolean; onClose: () => void }): JSX.Element {
  const [name, setName] = useState(isFirst ? 'administrator' : '');
  const [kind, setKind] = useState<Kind>(isFirst ? 'admin' : 'user');
  const [header, setHeader] = useState('x-openwebui-user-id');
  const [error, setError] = useState<unknown>();
  const [made, setMade] = useState<string>();
  const [isBusy, setBusy] = useState(false);

  const make = async (): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      const users = kind === 'people' ? { users: { from: 'header', name: header } as const } : {};
      const { key } = await call('POST /api/keys', { body: { name, role: kind === 'admin' ? 'admin' : 'user', ...users } });
      // From now on the gateway asks for a key, and this page is in the hands of whoever has made it.
      if (isFirst || ownKey.value === undefined) keepKey(key);
      setMade(key);
    } catch (failed) {
      setError(failed);
    } finally {
      setBusy(false);
    }
  };

  if (made !== undefined)
    return (
      <Dialog
        title="Your new key"
        onClose={onClose}
        actions={
          <Button kind="main" onClick={onClose}>
            I have it
          </Button>
        }
      >
        <p>It is shown this once.</p>
        <p class="row">
          <code class="grow keys-made">{made}</code>
          <CopyButton text={() => made} label="Copy the key" />
        </p>
      </Dialog>
    );
  return (
    <Dialog
      title="New key"
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="main" type="submit" form="new-key" isBusy={isBusy}>
            Make it
          </Button>
        </>
      }
    >
      <form
        id="new-key"
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void make();
        }}
      >
        <label class="field">
          Name
          <input
            autofocus
            required
            maxLength={100}
            value={name}
            onInput={(event) => setName(event.currentTarget.value)}
            autocomplete="off"
          />
        </label>
        <fieldset class="field group">
          <legend>For</legend>
          {kinds.map(([value, label, about]) => (
            <label key={value} class="field flag">
              <input
                type="radio"
                name="kind"
                checked={kind === value}
                disabled={isFirst && value !== 'admin'}
                onChange={() => setKind(value)}
              />
              {label}
              <span class="about">{about}</span>
            </label>
          ))}
        </fieldset>
        {kind === 'people' && (
          <label class="field">
            Header with the person’s id
            <input required value={header} onInput={(event) => setHeader(event.currentTarget.value)} spellcheck={false} />
            <span class="about">Open WebUI sends x-openwebui-user-id. A signed token is safer: the API takes it, see /docs.</span>
          </label>
        )}
        {isFirst && <p class="soft">The first key ends the open gateway: from then on everybody needs one.</p>}
        {error !== undefined && <Problem error={error} />}
      </form>
    </Dialog>
  );
}
