import { signal } from '@preact/signals';
import { credential, identity } from './credential.ts';

/** Who the gateway says is asking: the name of a person or key. Undefined while that is not known, and where no key is sent. */
export const callerName = signal<string | undefined>(undefined);

/** Finds out, now and whenever somebody else asks. */
export function watchCaller(): void {
  identity.subscribe((who) => {
    callerName.value = undefined;
    if (who === undefined) return;
    void nameOf(credential.value).then((name) => {
      if (identity.value === who) callerName.value = name;
    });
  });
}

/** Undefined for a key that the gateway does not take, and while it does not answer. */
export async function nameOf(sent: string | undefined): Promise<string | undefined> {
  const headers = { accept: 'application/json', ...(sent !== undefined && { authorization: `Bearer ${sent}` }) };
  const response = await fetch('/api/caller', { credentials: 'omit', headers }).catch(() => undefined);
  if (response?.ok !== true) return undefined;
  const { id, name, role, is_open: isOpen, person } = (await response.json()) as Caller;
  if (isOpen) return role === 'admin' ? 'the administrator of this start' : 'everybody at this machine';
  return person?.name ?? person?.email ?? person?.id ?? name ?? (role === 'admin' ? 'administrator' : id);
}

interface Caller {
  id: string;
  name: string | null;
  role: 'admin' | 'user';
  is_open: boolean;
  person: { id: string; name?: string; email?: string } | null;
}
