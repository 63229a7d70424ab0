import { signal } from '@preact/signals';
import { onItemChanged, readItem, writeItem } from '../storage/local-items.ts';
import { basePath } from './base-path.ts';
import { saveKey } from './key.ts';
import { statusMessage, unreachableMessage } from './unreachable.ts';

/** A person who is signed in at the gateway's OpenID provider. The token is only in memory. */
export interface Login {
  token: string;
  /** The id of the caller, which stays when the token is renewed. */
  caller: string;
  person: { id: string; name?: string; email?: string };
  /** When the token expires, in milliseconds since 1970 by the clock of this browser. */
  expires: number;
}

/** Undefined if nobody is signed in, or the gateway has not been asked yet. */
export const login = signal<Login | undefined>(undefined);

/** Whether the gateway lets people sign in. Undefined until it has been asked. */
export const canSignIn = signal<boolean | undefined>(undefined);

/** Marks a browser in which a person has signed in, so that the first request does not have to fail first. Not a credential. */
const markerName = 'signed-in';
/** A token is renewed this long before it expires, or after three quarters of its life. The gateway has a new one by then. */
const renewAheadMs = 30_000;
const soonestRenewalMs = 5_000;
const longestDelayMs = 2 ** 31 - 1;
/** A token that expires within this time is no longer used. */
const marginMs = 3_000;

/** Whether a person has signed in in this browser and not signed out. */
export const hasSignedIn = (): boolean => readItem(markerName) !== undefined;

let asking: Promise<Login | undefined> | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;

// Another tab has signed out.
onItemChanged(markerName, (value) => {
  if (value === undefined) forget();
});

/** Asks the gateway for a token of the person who is signed in in this browser, once for all callers. @throws Error with the fix if that fails */
export function askForLogin(): Promise<Login | undefined> {
  asking ??= request().finally(() => (asking = undefined));
  return asking;
}

/** Makes sure that there is a valid token if a person has signed in in this browser. Failures surface in the request that needs it. */
export async function readyLogin(): Promise<void> {
  const isGood = login.value !== undefined && login.value.expires - Date.now() > marginMs;
  if (!isGood && hasSignedIn()) await askForLogin().catch(() => undefined);
}

/** Whether the gateway lets people sign in. Only asked after a request was refused. */
export async function findSignIn(): Promise<boolean> {
  if (canSignIn.value !== undefined) return canSignIn.value;
  const about: unknown = await fetch(`${basePath}/`, { headers: { accept: 'application/json' }, credentials: 'omit' })
    .then((response) => response.json())
    .catch(() => undefined);
  const isOffered = typeof about === 'object' && about !== null && 'sign_in' in about;
  if (about !== undefined) canSignIn.value = isOffered;
  return isOffered;
}

/** Goes to the provider, which returns to this page. */
export function signIn(): void {
  saveKey(undefined);
  writeItem(markerName, 'yes');
  const path = location.pathname.slice(basePath.length);
  location.assign(`${basePath}/login?return_to=${encodeURIComponent(path + location.search)}`);
}

/** Signs out here and at the provider. @throws Error if the gateway cannot be reached */
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
  const body = (await response.json()) as { access_token: string; expires_in: number; caller: string; person: Login['person'] };
  const lifeMs = body.expires_in * 1_000;
  const found = { token: body.access_token, caller: body.caller, person: body.person, expires: Date.now() + lifeMs };
  login.value = found;
  writeItem(markerName, 'yes');
  renewIn(lifeMs - Math.min(renewAheadMs, lifeMs / 4));
  return found;
}

/** Retries while the gateway does not answer. A request that needs a token asks too. */
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
  writeItem(markerName, undefined);
}

/** The only requests with a cookie. The gateway answers them only for this page. */
async function post(path: '/login/token' | '/logout'): Promise<Response> {
  try {
    return await fetch(basePath + path, {
      method: 'POST',
      credentials: 'same-origin',
      headers: { accept: 'application/json', 'x-toolwharf-console': '1' },
    });
  } catch {
    throw new Error(unreachableMessage);
  }
}

async function messageOf(response: Response): Promise<string> {
  const body = (await response.json().catch(() => undefined)) as { error?: { message?: string } } | undefined;
  return body?.error?.message ?? statusMessage(response);
}
