import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { saveKey } from '../../api/key.ts';
import { login } from '../../api/login.ts';
import { call } from '../../api/request.ts';
import { useQuery } from '../../api/use-query.ts';
import { confirm } from '../../parts/confirm.ts';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Problem } from '../../parts/states.tsx';
import { showToast } from '../../parts/toasts.tsx';
import { Command } from '../../parts/text/with-code.tsx';
import { Connections } from './connections.tsx';
import { emptyDraft, toBody, toDraft } from './key-draft.ts';
import type { Key } from './key-draft.ts';
import { KeyFields } from './key-form.tsx';

interface KeyDialogProps {
  /** Absent: a new one. */
  edited?: Key | undefined;
  /** The first key has to be an administrator's, and ends the open gateway. */
  isFirst: boolean;
  onClose: () => void;
  onSaved: () => void;
}

/** Makes a key, and shows it this once; or changes one. */
export function KeyDialog({ edited, isFirst, onClose, onSaved }: KeyDialogProps): JSX.Element {
  const [before] = useState(() => (edited === undefined ? emptyDraft(isFirst) : toDraft(edited)));
  const [draft, setDraft] = useState(before);
  const [error, setError] = useState<unknown>();
  const [made, setMade] = useState<string>();
  const [isBusy, setBusy] = useState(false);

  const save = async (): Promise<void> => {
    setBusy(true);
    setError(undefined);
    const body = toBody(draft, before);
    try {
      if (edited === undefined) {
        const { key } = await call('POST /api/keys', { body });
        // From now on the gateway asks for a key, and this page is in the hands of whoever has made it. Who has signed in needs none.
        if (isFirst && login.value === undefined) saveKey(key);
        setMade(key);
      } else {
        await call('PATCH /api/keys/:id', { params: { id: edited.id }, body });
        showToast(`${draft.name} is saved.`);
        onClose();
      }
      onSaved();
    } catch (failed) {
      setError(failed);
    } finally {
      setBusy(false);
    }
  };

  if (made !== undefined) return <MadeKey made={made} onClose={onClose} />;
  return (
    <Dialog
      title={edited === undefined ? 'New key' : `Edit ${edited.name}`}
      isForm
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="main" type="submit" form="key-fields" isBusy={isBusy}>
            {edited === undefined ? 'Make it' : 'Save'}
          </Button>
        </>
      }
    >
      <form
        id="key-fields"
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <KeyFields
          draft={draft}
          set={(changes) => setDraft((current) => ({ ...current, ...changes }))}
          isFirst={isFirst}
          hasSecret={edited?.users?.from === 'jwt' && edited.users.has_secret}
        />
        {isFirst && <p class="soft">The first key ends the open gateway: from then on everybody needs one.</p>}
        {error !== undefined && <Problem error={error} />}
      </form>
      {edited !== undefined && edited.users === null && <ConnectionsOfKey id={edited.id} />}
    </Dialog>
  );
}

function ConnectionsOfKey({ id }: { id: string }): JSX.Element {
  const query = useQuery('GET /api/keys/:id/credentials', { params: { id } });
  return (
    <Connections query={query} disconnect={(server) => call('DELETE /api/keys/:id/credentials/:server', { params: { id, server } })} />
  );
}

function MadeKey({ made, onClose }: { made: string; onClose: () => void }): JSX.Element {
  const leave = async (): Promise<void> => {
    const isConfirmed = await confirm({
      title: 'Do you have the key?',
      text: 'It is shown this once, and nobody can read it again.',
      action: 'I have it',
    });
    if (isConfirmed) onClose();
  };
  return (
    <Dialog
      title="Your new key"
      onClose={() => void leave()}
      actions={
        <Button kind="main" onClick={onClose}>
          I have it
        </Button>
      }
    >
      <p>Copy it now: it is shown this once, and nobody can read it again.</p>
      <p class="keys-made">
        <Command text={made} label="Copy the key" />
      </p>
      <p>Programs and frontends take it together with this address:</p>
      <p class="keys-address">
        <Command text={`${location.origin}/v1`} label="Copy the address" />
      </p>
    </Dialog>
  );
}
