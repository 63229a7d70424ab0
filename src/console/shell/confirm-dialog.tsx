import type { JSX } from 'preact';
import { confirmation } from '../parts/confirm.ts';
import { Button } from '../parts/button.tsx';
import { Dialog } from '../parts/dialog.tsx';

/** The question of `askFirst`. */
export function ConfirmDialog(): JSX.Element | null {
  const asked = confirmation.value;
  if (asked === undefined) return null;
  return (
    <Dialog
      title={asked.title}
      onClose={() => asked.answer(false)}
      actions={
        <>
          <Button onClick={() => asked.answer(false)}>Cancel</Button>
          <Button kind={asked.isDangerous === true ? 'danger' : 'main'} onClick={() => asked.answer(true)}>
            {asked.action}
          </Button>
        </>
      }
    >
      <p>{asked.text}</p>
    </Dialog>
  );
}
