import { signal } from '@preact/signals';
import { mayAdminister } from './access.ts';
import { call } from './request.ts';

/** The names of keys by their ids, and of people by their caller ids. */
const names = signal<ReadonlyMap<string, string>>(new Map());
/** New keys and people may appear while the page is open. */
const askAgainMs = 30_000;
let askedAt = Number.NEGATIVE_INFINITY;

/**
 * The name of a caller: `Ada, Open WebUI`, or just the name of the key. Returns the id until the name is known. Call it within components, which are then
 * rendered again. Only administrators see callers, and they may read these names.
 */
export function nameOfCaller(id: string): string {
  const keyId = id.split('/', 1)[0] ?? id;
  const nameOfKey = names.value.get(keyId) ?? fixedName(keyId);
  if (nameOfKey === undefined || (id !== keyId && !names.value.has(id))) askForNames();
  if (id === keyId) return nameOfKey ?? id;
  return `${names.value.get(id) ?? id.slice(keyId.length + 1)}, ${nameOfKey ?? keyId}`;
}

function fixedName(keyId: string): string | undefined {
  if (keyId === 'local') return 'without a key';
  return keyId.startsWith('oidc_') ? 'OpenID' : undefined;
}

function askForNames(): void {
  // Users see no other callers, and may not read their names.
  if (mayAdminister.value !== true) return;
  const now = performance.now();
  if (now - askedAt < askAgainMs) return;
  askedAt = now;
  Promise.all([call('GET /api/keys'), call('GET /api/users')]).then(
    ([keys, people]) => {
      names.value = new Map([
        ...keys.data.map(({ id, name }): [string, string] => [id, name]),
        ...people.data.flatMap(({ key, id, name }): [string, string][] => (name === undefined ? [] : [[`${key}/${id}`, name]])),
      ]);
    },
    // The ids are shown instead.
    () => undefined,
  );
}
