import { signal } from '@preact/signals';
import { credential, identity } from './credential.ts';
import { key } from './key.ts';
import { readyLogin } from './login.ts';

/** Whether whoever asks may see what is for administrators; undefined until the gateway has said so for the first time. */
export const mayAdminister = signal<boolean | undefined>(undefined);

/** Finds out, now and whenever somebody else asks. */
export function watchAccess(): void {
  identity.subscribe((who) => void find(who));
}

async function find(who: string | undefined): Promise<void> {
  if (key.value === undefined) await readyLogin();
  const isAllowed = await ask();
  // Signing in makes somebody else of who asked, and starts this anew.
  if (identity.value === who) mayAdminister.value = isAllowed;
}

/** Anything but a clear refusal: where no key was entered yet, or the gateway does not answer, the page itself says what to do. */
async function ask(): Promise<boolean> {
  const headers = credential.value === undefined ? {} : { authorization: `Bearer ${credential.value}` };
  const response = await fetch('/api/settings', { method: 'HEAD', credentials: 'omit', headers }).catch(() => undefined);
  return response?.status !== 403;
}
