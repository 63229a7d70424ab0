import { signal } from '@preact/signals';
import { basePath } from './base-path.ts';
import { credential, identity } from './credential.ts';

/** The name of the person or key that the gateway recognizes. Undefined until it is known, and if no key is sent. */
export const callerName = signal<string | undefined>(undefined);

/** Asks now, and again whenever the caller changes. */
export function watchCaller(): void {
  identity.subscribe((who) => {
    callerName.value = undefined;
    if (who === undefined) return;
    void nameOf(credential.value).then((name) => {
      if (identity.value === who) callerName.value = name;
    });
  });
}

/** Undefined if the gateway does not accept the key, or does not answer. */
export async function nameOf(sent: string | undefined): Promise<string | undefined> {
  const headers = { accept: 'application/json', ...(sent !== undefined && { authorization: `Bearer ${sent}` }) };
  const response = await fetch(`${basePath}/api/caller`, { credentials: 'omit', headers }).catch(() => undefined);
  if (response?.ok !== true) return undefined;
  const { id, name, role, is_open: isOpen, person } = (await response.json()) as Caller;
  if (isOpen) return role === 'admin' ? 'the administrator' : 'anyone on this machine';
  return person?.name ?? person?.email ?? person?.id ?? name ?? (role === 'admin' ? 'administrator' : id);
}

interface Caller {
  id: string;
  name: string | null;
  role: 'admin' | 'user';
  is_open: boolean;
  person: { id: string; name?: string; email?: string } | null;
}
