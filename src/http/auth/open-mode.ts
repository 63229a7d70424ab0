import ipaddr from 'ipaddr.js';
import { GatewayError } from '../../core/errors.ts';

/** Header names are in lower case. */
type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** Headers that proxies add: those of RFC 7239 and RFC 9110, of nginx and Envoy, and of tunnels and CDNs. */
const proxyHeader =
  /^(?:forwarded|via|x-forwarded(?:-.+)?|x-original-.+|x-envoy-.+|x-azure-.+|x-real-ip|x-(?:cluster-)?client-ip|(?:true|fly|fastly)-client-ip|cf-.+|tailscale-.+|ngrok-.+)$/;

/**
 * Open mode is for users of this machine only. So it refuses pages of other sites (`Origin`), DNS rebinding (`Host`), and requests through a
 * proxy, which may come from anywhere (`Forwarded` and the like).
 */
export function openModeRefusal(request: { headers: Headers }, allowedOrigins: readonly string[]): GatewayError | undefined {
  const refusal = strangerRefusal(request);
  if (refusal !== undefined) return refusal;
  // Also for reads: with `*` in CORS_ALLOW_ORIGIN a browser would hand every answer to any page. So `*` never applies without a key.
  const origin = foreignOrigin(
    request.headers,
    allowedOrigins.filter((allowed) => allowed !== '*'),
  );
  if (origin === undefined) return undefined;
  return new GatewayError(
    'forbidden',
    `The page ${origin} may not use this gateway without a key. Name its origin in CORS_ALLOW_ORIGIN, or set TOOLWHARF_ADMIN_KEY and send the key.`,
  );
}

/** The part of it that holds for whatever sends the request. */
export function strangerRefusal({ headers }: { headers: Headers }): GatewayError | undefined {
  const proxied = proxyHeaderIn(headers);
  if (proxied !== undefined) {
    return new GatewayError(
      'invalid_api_key',
      `This request came through a proxy (${proxied}), so others can reach this gateway: set TOOLWHARF_ADMIN_KEY and send it as a bearer token.`,
    );
  }
  if (loopbackAddress(headers) === undefined) {
    return new GatewayError(
      'forbidden',
      'Without a key this gateway answers to 127.0.0.1, localhost and [::1] only. Use one of these, or set TOOLWHARF_ADMIN_KEY.',
    );
  }
  return undefined;
}

/** The `Origin` of a request, shortened, if it is neither the gateway's own nor one of the allowed ones (`*`: all); otherwise undefined. */
export function foreignOrigin(headers: Headers, allowed: readonly string[]): string | undefined {
  const origin = single(headers['origin']);
  if (origin === undefined || allowed.includes(origin) || allowed.includes('*')) return undefined;
  const isOwn = URL.canParse(origin) && new URL(origin).host === single(headers['host'])?.toLowerCase();
  return isOwn ? undefined : origin.slice(0, 200);
}

/** The name of a header that only proxies add. */
export function proxyHeaderIn(headers: Headers): string | undefined {
  return Object.keys(headers).find((name) => proxyHeader.test(name));
}

/** The URL that `Host` names, if it is one of this machine. */
export function loopbackAddress(headers: Headers): string | undefined {
  const host = single(headers['host']) ?? '';
  // No legitimate client sends user information or a path in `Host`.
  const url = /^[^/@?#\\\s]+$/.test(host) && URL.canParse(`http://${host}`) ? new URL(`http://${host}`) : undefined;
  return url !== undefined && isLoopbackName(url.hostname) ? url.origin : undefined;
}

/** `localhost` or a loopback address, in any spelling that the URL parser normalises. */
export function isLoopbackName(hostname: string): boolean {
  if (hostname === 'localhost') return true;
  const address = hostname.replaceAll(/^\[|\]$/g, '');
  return ipaddr.isValid(address) && ipaddr.process(address).range() === 'loopback';
}

export function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
