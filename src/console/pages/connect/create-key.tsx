import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { call } from '../../api/request.ts';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Problem } from '../../parts/states.tsx';

interface CreateKeyProps {
  /** What it is for, such as the name of a program. */
  suggestion: string;
  onClose: () => void;
  onCreated: (key: string) => void;
}

/** Creates a key for one program, which can chat and call tools. */
export function CreateKey({ suggestion, onClose, onCreated }: CreateKeyProps): JSX.Element {
  const [name, setName] = useState(suggestion);
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const create = async (): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      const { key } = await call('POST /api/keys', { body: { name, role: 'user' } });
      onCreated(key);
    } catch (failed) {
      setError(failed);
      setBusy(false);
    }
  };
  return (
    <Dialog
      title="New key"
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="main" type="submit" form="create-key" isBusy={isBusy}>
            Create key
          </Button>
        </>
      }
    >
      <form id="create-key" class="stack" onSubmit={(event) => (event.preventDefault(), void create())}>
        <label class="field">
          Name
          <input value={name} required autofocus onInput={(event) => setName(event.currentTarget.value)} autocomplete="off" />
        </label>
        <p class="soft">It can chat and call tools, but change nothing. Set limits for it under Keys and people.</p>
        {error !== undefined && <Problem error={error} />}
      </form>
    </Dialog>
  );
}
