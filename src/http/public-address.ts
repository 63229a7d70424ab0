import type { IncomingHttpHeaders } from 'node:http';
import { loopbackAddress, proxyHeaderIn } from './auth/open-mode.ts';

/**
 * Where people reach the gateway, for links: `PUBLIC_URL`, or the address that the request came to if that is one of this machine. Undefined for any
 * other request: whoever sends it chooses its `Host`, and a link in an answer must not lead to a host of their choice.
 */
export function publicAddress(headers: IncomingHttpHeaders, publicUrl: string | undefined): string | undefined {
  if (publicUrl !== undefined) return publicUrl;
  return proxyHeaderIn(headers) === undefined ? loopbackAddress(headers) : undefined;
}

/** The path of `PUBLIC_URL`, which a proxy takes out of requests: for links and redirects that have no host. Empty without one. */
export function publicPath(publicUrl: string | undefined): string {
  const path = publicUrl === undefined ? '' : new URL(publicUrl).pathname;
  return path === '/' ? '' : path;
}

/** The address at which the sender of a request reaches the gateway. Only for that sender, who chooses the `Host`. Undefined behind an untrusted proxy. */
export function askedAddress(headers: IncomingHttpHeaders, publicUrl: string | undefined): string | undefined {
  if (publicUrl !== undefined) return publicUrl;
  const host = headers.host ?? '';
  const origin = proxyHeaderIn(headers) === undefined && /^[\w.:[\]-]{1,255}$/.test(host) ? URL.parse(`http://${host}`)?.origin : undefined;
  return origin === 'null' ? undefined : origin;
}
