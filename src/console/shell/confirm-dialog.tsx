import type { JSX } from 'preact';
import { confirmation } from '../parts/confirm.ts';
import { Button } from '../parts/button.tsx';
import { Dialog } from '../parts/dialog.tsx';

/** The dialog that `confirm` opens. */
export function ConfirmDialog(): JSX.Element | null {
  const shown = confirmation.value;
  if (shown === undefined) return null;
  return (
    <Dialog
      title={shown.title}
      onClose={() => shown.answer(false)}
      actions={
        <>
          <Button onClick={() => shown.answer(false)}>Cancel</Button>
          <Button kind={shown.isDangerous === true ? 'danger' : 'main'} onClick={() => shown.answer(true)}>
            {shown.action}
          </Button>
        </>
      }
    >
      <p>{shown.text}</p>
    </Dialog>
  );
}
