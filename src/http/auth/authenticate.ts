import { hash, timingSafeEqual } from 'node:crypto';
import ipaddr from 'ipaddr.js';
import { fixedCallerId, openCallerId } from '../../core/callers/caller.ts';
import type { Caller } from '../../core/callers/caller.ts';
import { GatewayError } from '../../core/errors.ts';
import type { OidcCallers } from '../../core/callers/oidc.ts';
import { keyIdOf, personCallerId, personIdOf } from '../../core/callers/people.ts';
import type { NamedPerson, PersonTokens } from '../../core/callers/people.ts';
import type { Registry } from '../../core/stores/registry.ts';
import { hashKey } from '../../admin/derive-key-hash.ts';
import { createStoredKeys } from '../../admin/stored-keys.ts';
import { whenThere } from '../../shared/maybe-promise.ts';
import type { MaybePromise } from '../../shared/maybe-promise.ts';
import { identifyPerson, personNeeded } from './identify-person.ts';
import type { PersonSource } from './identify-person.ts';

/** The parts of an HTTP request that authentication reads. Header names are in lower case. */
export interface Credentials {
  method: string;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** As they came, names and values in turn; absent where a repeated header does no harm. */
  raw?: { rawHeaders: readonly string[] };
}

/** Every function throws GatewayError `storage_unavailable` when it needs a store that cannot be read. */
export interface Authenticator {
  /**
   * @throws GatewayError `invalid_api_key` (401) or `forbidden` (403), naming the cure; for a key that speaks for several people `user_required`, unless
   * `needsPerson` is false, and as `identifyPerson`
   */
  requireCaller: (request: Credentials, needsPerson?: boolean) => MaybePromise<Caller>;
  /**
   * Undefined when the key is unknown or has expired. `source`: where a person is named.
   * @throws GatewayError as `requireCaller` for a key that speaks for several people, and as `OidcCallers.find` for a token
   */
  findByToken: (token: string, source: PersonSource, needsPerson?: boolean) => MaybePromise<Caller | undefined>;
  /** The caller in open mode; undefined when this request needs a key. */
  findOpenCaller: (request: Credentials) => Promise<Caller | undefined>;
  /**
   * The caller of this id, for work that a caller has begun and that a request without their key continues. Undefined when their key is gone or has
   * expired, and in open mode when the request does not come from this machine. Whether it comes from a page of another site is not checked.
   */
  findById: (id: string, request: Credentials) => Promise<Caller | undefined>;
  isOpen: () => Promise<boolean>;
  /** Whether the request carries `METRICS_KEY`, which is good for `GET /metrics` alone. */
  hasMetricsKey: (request: Pick<Credentials, 'headers'>) => boolean;
  /** Drops cached keys. To be called after keys were created, changed or deleted. */
  forget: () => void;
}

export interface AuthenticatorOptions {
  registry: Registry;
  /** `TOOLWHARF_ADMIN_KEY`; works whatever the state of the store. */
  adminKey: string | undefined;
  /** `METRICS_KEY`. */
  metricsKey?: string | undefined;
  /** The administrator key that is printed at startup; changes require it in open mode. It is never stored and is valid until the process ends. */
  startKey?: string | undefined;
  /** Called each time a key with an expiry date is used. */
  onExpiring?: (keyId: string, expiresAt: number) => void;
  /** Checks the tokens that name people. */
  personTokens: PersonTokens;
  /** Absent: there are no callers but those with keys. With it the gateway is never open. */
  oidc?: OidcCallers | undefined;
  /** Called with each caller who is a person. */
  onPerson?: ((caller: Caller) => void) | undefined;
  /** Whether the gateway listens on a loopback address only. */
  isLoopback: boolean;
  /** Origins of pages that the operator allowed; they are treated like the gateway's own origin. */
  allowedOrigins?: readonly string[];
  /** From `derivePepper`. */
  pepper: string;
  /** Milliseconds since 1970. */
  now: () => number;
}

/** Without a key a caller may only chat and read, because strangers behind a proxy are indistinguishable from this machine's user. */
const openCaller: Caller = { id: openCallerId, name: openCallerId, role: 'user', isOpen: true };
/** In open mode, with the startup key. */
const openAdministrator: Caller = { id: openCallerId, role: 'admin', isOpen: true };
const startAdministrator: Caller = { id: openCallerId, role: 'admin', isOpen: false };
const fixedCaller: Caller = { id: fixedCallerId, name: 'administrator', role: 'admin', isOpen: false };
/** Headers that proxies add: those of RFC 7239 and RFC 9110, of nginx and Envoy, and of tunnels and CDNs. */
const proxyHeader =
  /^(?:forwarded|via|x-forwarded(?:-.+)?|x-original-.+|x-envoy-.+|x-azure-.+|x-real-ip|x-(?:cluster-)?client-ip|(?:true|fly|fastly)-client-ip|cf-.+|tailscale-.+|ngrok-.+)$/;

/**
 * Finds the caller of a request. The gateway is in open mode only on a loopback address, without `TOOLWHARF_ADMIN_KEY`, `auth.oidc` and any stored key.
 * Expired keys count too: a key that expires must never open the gateway.
 */
export function createAuthenticator({
  registry,
  adminKey,
  metricsKey,
  startKey,
  isLoopback,
  pepper,
  now,
  allowedOrigins = [],
  onExpiring,
  personTokens,
  oidc,
  onPerson,
}: AuthenticatorOptions): Authenticator {
  const fixedHash = adminKey === undefined ? undefined : digest(adminKey);
  const startHash = startKey === undefined ? undefined : digest(startKey);
  const metricsHash = metricsKey === undefined ? undefined : digest(metricsKey);
  const stored = createStoredKeys({ registry, now, onExpiring });

  const isKey = (token: string, expected: Buffer | undefined): boolean =>
    expected !== undefined && timingSafeEqual(digest(token), expected);
  const mayBeOpen = isLoopback && fixedHash === undefined && oidc === undefined;
  const isOpen = (): MaybePromise<boolean> => mayBeOpen && whenThere(stored.hasAny(), (hasAny) => !hasAny);

  function findByToken(token: string, source: PersonSource, needsPerson = true): MaybePromise<Caller | undefined> {
    if (isKey(token, fixedHash)) return fixedCaller;
    if (isKey(token, startHash)) return startAdministrator;
    if (oidc?.isToken(token) === true) return oidc.find(token).then(known);
    return whenThere(stored.find(hashKey(token, pepper)), (key) => {
      if (key?.people === undefined) return key?.caller;
      const { caller, people } = key;
      return whenThere(identifyPerson(people, source, personTokens), (named) => {
        // Only one who was named before: a token that has just been verified has not ended.
        if (named?.tokenExpiresAt !== undefined && named.tokenExpiresAt <= now()) return undefined;
        if (named !== undefined) return known(asPerson(caller, named));
        if (needsPerson) throw personNeeded(people);
        return caller;
      });
    });
  }

  function known(caller: Caller): Caller {
    onPerson?.(caller);
    return caller;
  }

  const findOpenCaller = async (request: Credentials): Promise<Caller | undefined> =>
    (await isOpen()) && openModeRefusal(request, allowedOrigins) === undefined ? openCaller : undefined;

  /** @throws GatewayError */
  function requireOpenCaller(request: Credentials): Caller {
    const refusal = openModeRefusal(request, allowedOrigins);
    if (refusal !== undefined) throw refusal;
    return isKey(tokenOf(request.headers) ?? '', startHash) ? openAdministrator : openCaller;
  }

  /** @throws GatewayError */
  function requireKeyOwner(request: Credentials, needsPerson: boolean): MaybePromise<Caller> {
    const token = tokenOf(request.headers);
    if (token === undefined) throw invalidKey(false);
    return whenThere(findByToken(token, request, needsPerson), (caller) => {
      if (caller === undefined) throw invalidKey(true);
      return caller;
    });
  }

  return {
    isOpen: async () => isOpen(),
    findByToken,
    hasMetricsKey: ({ headers }) => isKey(tokenOf(headers) ?? '', metricsHash),
    findOpenCaller,
    async findById(id, request) {
      if (id === openCallerId) return (await isOpen()) && strangerRefusal(request) === undefined ? openCaller : undefined;
      if (id === fixedCallerId) return fixedHash && fixedCaller;
      const byToken = oidc?.findById(id);
      if (byToken !== undefined) return byToken;
      const key = await stored.findById(keyIdOf(id));
      const personId = personIdOf(id);
      // A key that came to speak for people, or no longer does, is another caller.
      if ((key?.people === undefined) !== (personId === undefined)) return undefined;
      return key && (personId === undefined ? key.caller : asPerson(key.caller, { person: { id: personId } }));
    },
    forget: stored.forget,
    requireCaller: (request, needsPerson = true) =>
      whenThere(isOpen(), (open) => (open ? requireOpenCaller(request) : requireKeyOwner(request, needsPerson))),
  };
}

function asPerson(key: Caller, { person, tokenExpiresAt }: NamedPerson): Caller {
  const caller = { ...key, id: personCallerId(key.id, person.id), person };
  if (tokenExpiresAt === undefined) return caller;
  return { ...caller, tokenExpiresAt, expiresAt: Math.min(key.expiresAt ?? Infinity, tokenExpiresAt) };
}

/** The same error for every key that does not work, so that it reveals nothing about existing keys. */
export function invalidKey(wasSent: boolean): GatewayError {
  const problem = wasSent ? 'The API key is not valid here' : 'No API key was sent';
  return new GatewayError(
    'invalid_api_key',
    `${problem}. Send it as "Authorization: Bearer <key>", "x-api-key", or as the password of Basic authentication.`,
  );
}

/** Says where to find the startup key. */
export function startKeyNeeded(): GatewayError {
  return new GatewayError(
    'invalid_api_key',
    'Changes require the administrator key of this start: the "sk-tw-…" at the end of the link in the terminal where the gateway was started. ' +
      'Send it as "Authorization: Bearer <key>" or "x-api-key". For a permanent key, set TOOLWHARF_ADMIN_KEY.',
  );
}

/** Digests have equal length, so that `timingSafeEqual` takes the same time for every token. */
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
 * Open mode is for users of this machine only. So it refuses pages of other sites (`Origin`), DNS rebinding (`Host`), and requests through a
 * proxy, which may come from anywhere (`Forwarded` and the like).
 */
function openModeRefusal(request: Credentials, allowedOrigins: readonly string[]): GatewayError | undefined {
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
function strangerRefusal({ headers }: Credentials): GatewayError | undefined {
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
export function foreignOrigin(headers: Credentials['headers'], allowed: readonly string[]): string | undefined {
  const origin = single(headers['origin']);
  if (origin === undefined || allowed.includes(origin) || allowed.includes('*')) return undefined;
  const isOwn = URL.canParse(origin) && new URL(origin).host === single(headers['host'])?.toLowerCase();
  return isOwn ? undefined : origin.slice(0, 200);
}

/** The name of a header that only proxies add. */
export function proxyHeaderIn(headers: Credentials['headers']): string | undefined {
  return Object.keys(headers).find((name) => proxyHeader.test(name));
}

/** The URL that `Host` names, if it is one of this machine. */
export function loopbackAddress(headers: Credentials['headers']): string | undefined {
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

function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
