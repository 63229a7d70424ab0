import type { JSX } from 'preact';
import { keyQuestion } from '../api/key.ts';
import { Button } from '../parts/button.tsx';
import { Dialog } from '../parts/dialog.tsx';

/** Asks for a key where the gateway wants one. */
export function KeyDialog(): JSX.Element | null {
  const question = keyQuestion.value;
  if (question === undefined) return null;
  const take = (form: HTMLFormElement): void => {
    const given = new FormData(form).get('key');
    if (typeof given === 'string' && given.trim() !== '') question.answer(given.trim());
  };
  return (
    <Dialog
      title="Key of this gateway"
      onClose={() => question.answer(undefined)}
      actions={
        <>
          <Button onClick={() => question.answer(undefined)}>Cancel</Button>
          <Button kind="main" type="submit" form="key-form">
            Use this key
          </Button>
        </>
      }
    >
      <form
        id="key-form"
        onSubmit={(event) => {
          event.preventDefault();
          take(event.currentTarget);
        }}
      >
        <p>{question.message}</p>
        <div class="field">
          <label for="key">Key</label>
          <input
            id="key"
            name="key"
            type="password"
            required
            autofocus
            autoComplete="current-password"
            placeholder="sk-tw-…"
            spellcheck={false}
          />
          <p class="about">It is kept in this browser, and sent to this gateway alone.</p>
        </div>
      </form>
    </Dialog>
  );
}
