import { signal } from '@preact/signals';
import { saveKey } from './key.ts';

/** Somebody who is signed in at the gateway's OpenID provider. The token is kept in memory alone. */
export interface Login {
  token: string;
  /** The id of the caller, which stays when the token is renewed. */
  caller: string;
  person: { id: string; name?: string; email?: string };
  /** When the token ends, in milliseconds since 1970, by the clock of this browser. */
  expires: number;
}

/** Undefined also while nobody has asked yet. */
export const login = signal<Login | undefined>(undefined);

/** Whether the gateway lets people sign in; undefined while nobody has asked. */
export const canSignIn = signal<boolean | undefined>(undefined);

/** Says that somebody has signed in in this browser, so that the first request need not fail to find out. No credential. */
const place = 'toolwharf.signed-in';
/** A token is renewed this long before its end, or after three quarters of its life: later than the gateway has a new one. */
const renewAheadMs = 30_000;
const soonestRenewalMs = 5_000;
const longestDelayMs = 2 ** 31 - 1;
/** A token that ends within this time is not used any more. */
const marginMs = 3_000;

/** Whether somebody has signed in in this browser, and not out again. */
export const hasSignedIn = (): boolean => localStorage.getItem(place) !== null;

let asking: Promise<Login | undefined> | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;

// Another tab has signed out.
addEventListener('storage', ({ key, newValue }) => {
  if (key === place && newValue === null) forget();
});

/** Asks the gateway for a token of whoever is signed in in this browser, once for all who wait. @throws Error with the cure, if it cannot say */
export function askForLogin(): Promise<Login | undefined> {
  asking ??= request().finally(() => (asking = undefined));
  return asking;
}

/** A token that is good for now, where somebody has signed in in this browser; what is wrong is found by the request that needs one. */
export async function readyLogin(): Promise<void> {
  const isGood = login.value !== undefined && login.value.expires - Date.now() > marginMs;
  if (!isGood && hasSignedIn()) await askForLogin().catch(() => undefined);
}

/** Whether the gateway lets people sign in. Asked for where a request was refused, so that others need not ask. */
export async function findSignIn(): Promise<boolean> {
  if (canSignIn.value !== undefined) return canSignIn.value;
  const about: unknown = await fetch('/', { headers: { accept: 'application/json' }, credentials: 'omit' })
    .then((response) => response.json())
    .catch(() => undefined);
  const isOffered = typeof about === 'object' && about !== null && 'sign_in' in about;
  if (about !== undefined) canSignIn.value = isOffered;
  return isOffered;
}

/** Leaves for the provider, which leads back to this page. */
export function signIn(): void {
  saveKey(undefined);
  localStorage.setItem(place, 'yes');
  location.assign(`/login?return_to=${encodeURIComponent(location.pathname + location.search)}`);
}

/** Here and at the provider. @throws Error if the gateway cannot be asked */
export async function signOut(): Promise<void> {
  const response = await post('/logout');
  if (!response.ok) throw new Error(await messageOf(response));
  const { provider } = (await response.json()) as { provider: string | null };
  forget();
  location.assign(provider ?? '/');
}

async function request(): Promise<Login | undefined> {
  const response = await post('/login/token');
  if (response.status === 204 || response.status === 404) {
    forget();
    return undefined;
  }
  if (!response.ok) throw new Error(await messageOf(response));
  const given = (await response.json()) as { access_token: string; expires_in: number; caller: string; person: Login['person'] };
  const lifeMs = given.expires_in * 1_000;
  const found = { token: given.access_token, caller: given.caller, person: given.person, expires: Date.now() + lifeMs };
  login.value = found;
  localStorage.setItem(place, 'yes');
  renewIn(lifeMs - Math.min(renewAheadMs, lifeMs / 4));
  return found;
}

/** While the gateway cannot say, it is asked again; a request that needs a token asks as well. */
function renewIn(delayMs: number): void {
  clearTimeout(timer);
  timer = setTimeout(
    () => void askForLogin().catch(() => renewIn(soonestRenewalMs)),
    Math.min(Math.max(delayMs, soonestRenewalMs), longestDelayMs),
  );
}

function forget(): void {
  clearTimeout(timer);
  login.value = undefined;
  localStorage.removeItem(place);
}

/** The one kind of request that goes with a cookie: the gateway answers it to this page alone. */
async function post(path: '/login/token' | '/logout'): Promise<Response> {
  try {
    return await fetch(path, {
      method: 'POST',
      credentials: 'same-origin',
      headers: { accept: 'application/json', 'x-toolwharf-console': '1' },
    });
  } catch {
    throw new Error('The gateway does not answer. See whether it still runs, and try again.');
  }
}

async function messageOf(response: Response): Promise<string> {
  const body = (await response.json().catch(() => undefined)) as { error?: { message?: string } } | undefined;
  return body?.error?.message ?? `The gateway answered ${response.status} ${response.statusText}.`;
}
