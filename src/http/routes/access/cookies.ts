import { limits } from '../../../core/limits.ts';
import type { LeavingBrowser } from '../../../core/sign-in/sign-in.ts';

/** For the browser that goes to an authorization server, and comes back in time. `address`: of the gateway. */
export function leavingCookie({ name, value }: LeavingBrowser['cookie'], address: string | undefined): string {
  return cookie({ name, value }, { seconds: limits.signInStateMs / 1_000, address });
}

/** No script reads it. `Lax`: it is sent with the way back, which another site leads, and not with what other sites send. Without `seconds` it is deleted. */
export function cookie(
  { name, value }: LeavingBrowser['cookie'],
  { seconds = 0, address }: { seconds?: number; address: string | undefined },
): string {
  const secure = address?.startsWith('https:') === true ? '; Secure' : '';
  return `${name}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure}`;
}

/** RFC 6265, section 4.2.1. Of two with one name the first counts, which has the longer path. */
export function cookiesIn(header = ''): ReadonlyMap<string, string> {
  const pairs = header.split(';').map((pair): [string, string] => {
    const [name = '', ...value] = pair.split('=');
    return [name.trim(), value.join('=').trim()];
  });
  return new Map(pairs.toReversed());
}
