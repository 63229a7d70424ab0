import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';

interface Question {
  title: string;
  /** What happens, and whether it can be undone. */
  text: string;
  /** The verb on the button. */
  action: string;
  isDangerous?: boolean;
}

const question = signal<(Question & { answer(isYes: boolean): void }) | undefined>(undefined);

/** Asks before something that cannot be undone: `if (await askFirst({ title: 'Delete this key?', … }))`. */
export function askFirst(asked: Question): Promise<boolean> {
  question.value?.answer(false);
  return new Promise((resolve) => {
    question.value = {
      ...asked,
      answer(isYes) {
        question.value = undefined;
        resolve(isYes);
      },
    };
  });
}

/** Stands once, in the shell. */
export function AskedFirst(): JSX.Element | null {
  const asked = question.value;
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
