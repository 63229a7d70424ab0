import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { basePath } from '../../api/base-path.ts';
import { saveKey } from '../../api/key.ts';
import { login } from '../../api/login.ts';
import { call } from '../../api/request.ts';
import { useQuery } from '../../api/use-query.ts';
import { confirm } from '../../parts/confirm.ts';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { NewKey } from '../../parts/new-key.tsx';
import { Problem } from '../../parts/states.tsx';
import { showToast } from '../../parts/toasts.tsx';
import { Command } from '../../parts/text/with-code.tsx';
import { Connections } from './connections.tsx';
import { emptyDraft, toBody, toDraft } from './key-draft.ts';
import type { Key, KeyBody } from './key-draft.ts';
import { KeyFields } from './key-form.tsx';

export interface KeyDialogProps {
  /** Absent: a new key. */
  edited?: Key | undefined;
  /** The first key is for an administrator, and turns on authentication. */
  isFirst: boolean;
  onClose: () => void;
  onSaved: () => void;
}

/** Creates a key and shows it once, or changes one. */
export function KeyDialog({ edited, isFirst, onClose, onSaved }: KeyDialogProps): JSX.Element {
  const [before] = useState(() => (edited === undefined ? emptyDraft(isFirst) : toDraft(edited)));
  const [draft, setDraft] = useState(before);
  const [error, setError] = useState<unknown>();
  const [created, setCreated] = useState<string>();
  const [isBusy, setBusy] = useState(false);

  const save = async (): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      const body = toBody(draft, before);
      if (edited === undefined) setCreated(await createKey(body, isFirst));
      else {
        await call('PATCH /api/keys/:id', { params: { id: edited.id }, body });
        showToast(`${draft.name} was saved.`);
        onClose();
      }
      onSaved();
    } catch (failed) {
      setError(failed);
    } finally {
      setBusy(false);
    }
  };

  if (created !== undefined) return <CreatedKey created={created} onClose={onClose} />;
  return (
    <Dialog
      title={edited === undefined ? 'New key' : `Edit ${edited.name}`}
      isForm
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="main" type="submit" form="key-fields" isBusy={isBusy}>
            {edited === undefined ? 'Create key' : 'Save'}
          </Button>
        </>
      }
    >
      <form id="key-fields" class="stack" onSubmit={(event) => (event.preventDefault(), void save())}>
        <KeyFields
          draft={draft}
          set={(changes) => setDraft((current) => ({ ...current, ...changes }))}
          isFirst={isFirst}
          hasSecret={edited?.users?.from === 'jwt' && edited.users.has_secret}
        />
        {isFirst && <p class="soft">Creating the first key turns on authentication for everyone.</p>}
        {error !== undefined && <Problem error={error} />}
      </form>
      {edited !== undefined && edited.users === null && <ConnectionsOfKey id={edited.id} />}
    </Dialog>
  );
}

async function createKey(body: KeyBody, isFirst: boolean): Promise<string> {
  const { key } = await call('POST /api/keys', { body });
  // The gateway requires a key from now on, so this page uses the new one. A person who has signed in does not need it.
  if (isFirst && login.value === undefined) saveKey(key);
  return key;
}

function ConnectionsOfKey({ id }: { id: string }): JSX.Element {
  const query = useQuery('GET /api/keys/:id/credentials', { params: { id } });
  return (
    <Connections query={query} disconnect={(server) => call('DELETE /api/keys/:id/credentials/:server', { params: { id, server } })} />
  );
}

function CreatedKey({ created, onClose }: { created: string; onClose: () => void }): JSX.Element {
  const leave = async (): Promise<void> => {
    const isConfirmed = await confirm({
      title: 'Have you copied the key?',
      text: 'It is shown only once and cannot be recovered.',
      action: 'Done',
    });
    if (isConfirmed) onClose();
  };
  return (
    <Dialog
      title="Your new key"
      onClose={() => void leave()}
      actions={
        <Button kind="main" onClick={onClose}>
          Done
        </Button>
      }
    >
      <NewKey created={created} />
      <p>Use it in your program together with this base URL:</p>
      <p class="keys-address">
        <Command text={`${location.origin}${basePath}/v1`} label="Copy base URL" />
      </p>
    </Dialog>
  );
}
