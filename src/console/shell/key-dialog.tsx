import type { JSX } from 'preact';
import { keyPattern, keyQuestion } from '../api/key.ts';
import type { KeyQuestion } from '../api/key.ts';
import { canSignIn, signIn } from '../api/login.ts';
import { Button } from '../parts/button.tsx';
import { Dialog } from '../parts/dialog.tsx';

/** Asks for a key that the gateway requires, or asks people to sign in. */
export function KeyDialog(): JSX.Element | null {
  const question = keyQuestion.value;
  if (question === undefined) return null;
  return canSignIn.value === true ? <SignInQuestion question={question} /> : <KeyQuestionDialog question={question} />;
}

function SignInQuestion({ question }: { question: KeyQuestion }): JSX.Element {
  return (
    <Dialog
      title="Sign in"
      onClose={() => question.answer(undefined)}
      actions={
        <>
          <Button onClick={() => question.answer(undefined)}>Cancel</Button>
          <Button kind="main" icon="person" isFirst onClick={signIn}>
            Sign in
          </Button>
        </>
      }
    >
      <p>Sign in with your account to continue. You will return to this page.</p>
      <details class="key-instead">
        <summary>Use an API key instead</summary>
        <KeyForm question={question} />
        <Button type="submit" form="key-form">
          Use this key
        </Button>
      </details>
    </Dialog>
  );
}

function KeyQuestionDialog({ question }: { question: KeyQuestion }): JSX.Element {
  return (
    <Dialog
      title="Enter your API key"
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
      <p>{question.message}</p>
      <KeyForm question={question} hasFocus />
    </Dialog>
  );
}

function KeyForm({ question, hasFocus = false }: { question: KeyQuestion; hasFocus?: boolean }): JSX.Element {
  const submit = (form: HTMLFormElement): void => {
    const entered = new FormData(form).get('key');
    if (typeof entered === 'string' && entered.trim() !== '') question.answer(entered.trim());
  };
  return (
    <form
      id="key-form"
      onSubmit={(event) => {
        event.preventDefault();
        submit(event.currentTarget);
      }}
    >
      <div class="field">
        <label for="key">Key</label>
        <input
          id="key"
          name="key"
          type="password"
          required
          pattern={keyPattern}
          title="A key contains only ASCII characters."
          autofocus={hasFocus}
          autoComplete="current-password"
          placeholder="sk-tw-…"
          spellcheck={false}
        />
        <p class="about">Stored in this browser and sent only to this gateway.</p>
      </div>
    </form>
  );
}
