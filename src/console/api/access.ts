import { signal } from '@preact/signals';
import { basePath } from './base-path.ts';
import { credential, identity } from './credential.ts';
import { key } from './key.ts';
import { readyLogin } from './login.ts';

/** Whether the caller is an administrator. Undefined until the gateway has answered for the first time. */
export const mayAdminister = signal<boolean | undefined>(undefined);

/** Asks now, and again whenever the caller changes. */
export function watchAccess(): void {
  identity.subscribe((who) => void update(who));
}

async function update(who: string | undefined): Promise<void> {
  if (key.value === undefined) await readyLogin();
  const isAllowed = await isAdministrator();
  // Signing in changes the caller, and then this runs again.
  if (identity.value === who) mayAdminister.value = isAllowed;
}

/** True unless the gateway clearly refuses. Without a key, or if the gateway does not answer, the page itself says what to do. */
async function isAdministrator(): Promise<boolean> {
  const headers = { accept: 'application/json', ...(credential.value !== undefined && { authorization: `Bearer ${credential.value}` }) };
  const response = await fetch(`${basePath}/api/caller`, { credentials: 'omit', headers }).catch(() => undefined);
  if (response?.ok !== true) return true;
  // An open gateway lets everybody on its machine look.
  const { role, is_open: isOpen } = (await response.json()) as { role: string; is_open: boolean };
  return role === 'admin' || isOpen;
}
