import { hash, timingSafeEqual } from 'node:crypto';
import ipaddr from 'ipaddr.js';
import { fixedCallerId, openCallerId } from '../../core/caller.ts';
import type { Caller } from '../../core/caller.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Registry } from '../../core/registry.ts';
import { hashKey } from '../../admin/derive-key-hash.ts';
import { createStoredKeys } from '../../admin/stored-keys.ts';

/** What a request shows of itself, whatever framework received it. Header names in lower case. */
export interface Credentials {
  method: string;
  headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** Every function rejects with GatewayError `storage_unavailable` when the answer depends on a store that cannot be read. */
export interface Authenticator {
  /** @throws GatewayError `invalid_api_key` (401) or `forbidden` (403), naming the cure. */
  requireCaller: (request: Credentials) => Promise<Caller>;
  /** Undefined when the key is unknown or has expired. */
  findByToken: (token: string) => Promise<Caller | undefined>;
  /** The caller of an open gateway, or undefined when a key is needed or this request may not do without one. */
  findOpenCaller: (request: Credentials) => Promise<Caller | undefined>;
  isOpen: () => Promise<boolean>;
  /** Keys were created, changed or deleted: nothing that was read before counts any more. */
  forget: () => void;
}

export interface AuthenticatorOptions {
  registry: Registry;
  /** `TOOLWHARF_ADMIN_KEY`; works whatever the state of the store. */
  adminKey: string | undefined;
  /** The administrator key of this start, which changes need while the gateway is open. Kept in memory alone; good until the process ends. */
  startKey?: string | undefined;
  /** A key that will end was shown; called again each time. */
  onExpiring?: (keyId: string, expiresAt: number) => void;
  /** Whether the gateway listens on a loopback address only. */
  isLoopback: boolean;
  /** Origins of pages that the operator named; they count as the gateway's own. */
  allowedOrigins?: readonly string[];
  /** From `derivePepper`. */
  pepper: string;
  /** Milliseconds since 1970. */
  now: () => number;
}

/** Without a key one may chat and read, no more: behind a proxy strangers look like this machine's user. */
const openCaller: Caller = { id: openCallerId, name: openCallerId, role: 'user', isOpen: true };
/** The same, with the key of this start. */
const openAdministrator: Caller = { id: openCallerId, role: 'admin', isOpen: true };
const startAdministrator: Caller = { id: openCallerId, role: 'admin', isOpen: false };
const fixedCaller: Caller = { id: fixedCallerId, name: 'administrator', role: 'admin', isOpen: false };
/** Of RFC 7239 and RFC 9110, of nginx and Envoy, and of the services that publish an address. */
const proxyHeader =
  /^(?:forwarded|via|x-forwarded(?:-.+)?|x-original-.+|x-envoy-.+|x-azure-.+|x-real-ip|x-(?:cluster-)?client-ip|(?:true|fly|fastly)-client-ip|cf-.+|tailscale-.+|ngrok-.+)$/;

/**
 * Who is asking. The gateway is open only on a loopback address, without a fixed key and without any stored one, expired ones included: a key
 * that expires must never open the gateway.
 */
export function createAuthenticator({
  registry,
  adminKey,
  startKey,
  isLoopback,
  pepper,
  now,
  allowedOrigins = [],
  onExpiring,
}: AuthenticatorOptions): Authenticator {
  const fixedHash = adminKey === undefined ? undefined : digest(adminKey);
  const startHash = startKey === undefined ? undefined : digest(startKey);
  const stored = createStoredKeys({ registry, now, onExpiring });

  const isKey = (token: string, expected: Buffer | undefined): boolean =>
    expected !== undefined && timingSafeEqual(digest(token), expected);
  const isOpen = async (): Promise<boolean> => isLoopback && fixedHash === undefined && !(await stored.hasAny());

  async function findByToken(token: string): Promise<Caller | undefined> {
    if (isKey(token, fixedHash)) return fixedCaller;
    if (isKey(token, startHash)) return startAdministrator;
    return stored.findCaller(hashKey(token, pepper));
  }

  return {
    isOpen,
    findByToken,
    forget: stored.forget,
    async findOpenCaller(request) {
      return (await isOpen()) && openModeRefusal(request, allowedOrigins) === undefined ? openCaller : undefined;
    },
    async requireCaller(request) {
      if (await isOpen()) {
        const refusal = openModeRefusal(request, allowedOrigins);
        if (refusal !== undefined) throw refusal;
        return isKey(tokenOf(request.headers) ?? '', startHash) ? openAdministrator : openCaller;
      }
      const token = tokenOf(request.headers);
      const caller = token === undefined ? undefined : await findByToken(token);
      if (caller === undefined) throw invalidKey(token !== undefined);
      return caller;
    },
  };
}

/** One answer to every key that does not work, so that it reveals nothing about the keys that do. */
export function invalidKey(wasSent: boolean): GatewayError {
  const problem = wasSent ? 'The API key is not valid here' : 'No API key was sent';
  return new GatewayError(
    'invalid_api_key',
    `${problem}. Send it as "Authorization: Bearer <key>", "x-api-key", or as the password of Basic authentication.`,
  );
}

/** Says where the key of this start is to be found. */
export function startKeyNeeded(): GatewayError {
  return new GatewayError(
    'invalid_api_key',
    'Changes need the administrator key of this start: the "sk-tw-…" at the end of the link in the terminal where the gateway was started. ' +
      'Send it as "Authorization: Bearer <key>" or "x-api-key". For a key that lasts set TOOLWHARF_ADMIN_KEY.',
  );
}

/** Of equal length, whatever was sent: the comparison takes the same time for every token. */
function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}

/** The key of a request: `Authorization: Bearer`, `x-api-key`, or Basic with the key as password. */
export function tokenOf(headers: Credentials['headers']): string | undefined {
  const authorization = single(headers['authorization']);
  const [scheme, value] = authorization?.split(/\s+/, 2) ?? [];
  if (scheme?.toLowerCase() === 'bearer' && value !== undefined && value !== '') return value;
  if (scheme?.toLowerCase() === 'basic' && value !== undefined) {
    const pair = Buffer.from(value, 'base64').toString();
    const password = pair.slice(pair.indexOf(':') + 1);
    if (password !== '') return password;
  }
  const key = single(headers['x-api-key']);
  return key === undefined || key === '' ? undefined : key;
}

/**
 * Without a key the gateway is open to this machine alone. Therefore refused: a browser page of another site (Origin), a name that
 * was rebound to this address (Host), and a proxy that may pass on strangers (Forwarded and the like).
 */
function openModeRefusal({ headers }: Credentials, allowedOrigins: readonly string[]): GatewayError | undefined {
  const proxied = Object.keys(headers).find((name) => proxyHeader.test(name));
  if (proxied !== undefined) {
    return new GatewayError(
      'invalid_api_key',
      `A proxy stands in front (${proxied}), so others can reach this gateway: set TOOLWHARF_ADMIN_KEY and send it as a bearer token.`,
    );
  }
  if (!isLoopbackName(hostnameOf(single(headers['host']) ?? ''))) {
    return new GatewayError(
      'forbidden',
      'Without a key this gateway answers to 127.0.0.1, localhost and [::1] only. Use one of these, or set TOOLWHARF_ADMIN_KEY.',
    );
  }
  // Reading too: with `*` in CORS_ALLOW_ORIGIN a browser would hand every answer to the page. `*` names nobody: it never does without a key.
  const origin = foreignOrigin(
    headers,
    allowedOrigins.filter((allowed) => allowed !== '*'),
  );
  if (origin === undefined) return undefined;
  return new GatewayError(
    'forbidden',
    `The page ${origin} may not use this gateway without a key. Name its origin in CORS_ALLOW_ORIGIN, or set TOOLWHARF_ADMIN_KEY and send the key.`,
  );
}

/** The origin of the page that sends a request, shortened, where it is neither the gateway's own nor among those allowed (`*`: all). */
export function foreignOrigin(headers: Credentials['headers'], allowed: readonly string[]): string | undefined {
  const origin = single(headers['origin']);
  if (origin === undefined || allowed.includes(origin) || allowed.includes('*')) return undefined;
  const isOwn = URL.canParse(origin) && new URL(origin).host === single(headers['host'])?.toLowerCase();
  return isOwn ? undefined : origin.slice(0, 200);
}

function hostnameOf(host: string): string {
  // User information or a path in a Host header is no host name that a client sends.
  return /^[^/@?#\\\s]+$/.test(host) && URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : '';
}

/** `localhost` or a loopback address, in any spelling that the URL parser normalises. */
export function isLoopbackName(hostname: string): boolean {
  if (hostname === 'localhost') return true;
  const address = hostname.replaceAll(/^\[|\]$/g, '');
  return ipaddr.isValid(address) && ipaddr.process(address).range() === 'loopback';
}

function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
