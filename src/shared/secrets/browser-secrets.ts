import { hash, randomBytes } from 'node:crypto';

/** 256 bits, which nobody can guess. */
const secretBytes = 32;
/** Of what comes back as `state`; those of the gateway are shorter. */
const longestState = 200;

/** What only a browser, or whoever has a link, is given. */
export function newSecret(): string {
  return randomBytes(secretBytes).toString('base64url');
}

/** What a secret is stored under, so that the store gives none away. */
export function digestOf(secret: string): string {
  return hash('sha256', secret, 'base64url');
}

/** The `state` with which somebody comes back from an authorization server; undefined unless there is exactly one that could be the gateway's. */
export function stateIn(answer: URLSearchParams): string | undefined {
  const [state = '', ...others] = answer.getAll('state');
  return state === '' || state.length > longestState || others.length > 0 ? undefined : state;
}

/** With https no other host of the domain can set it (`__Host-`, draft-ietf-httpbis-rfc6265bis, section 4.1.3.2). `address`: of the gateway. */
export function cookieNameAt(address: string | undefined, name: string): string {
  return address?.startsWith('https:') === true ? `__Host-${name}` : name;
}

/** One cookie for each `state`, so that two sign-ins in one browser do not get in each other's way. */
export function stateCookieName(address: string | undefined, name: string, state: string): string {
  return cookieNameAt(address, `${name}-${digestOf(state).slice(0, 16)}`);
}
