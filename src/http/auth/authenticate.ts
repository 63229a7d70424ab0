import { hash, timingSafeEqual } from 'node:crypto';
import { fixedCallerId, openCallerId, type Caller } from '../../core/callers/caller.ts';
import { GatewayError } from '../../core/errors.ts';
import type { OidcCallers } from '../../core/callers/oidc.ts';
import { keyIdOf, personCallerId, personIdOf, type NamedPerson, type PersonTokens } from '../../core/callers/people.ts';
import type { Registry } from '../../core/stores/registry.ts';
import { hashKey } from '../../admin/derive-key-hash.ts';
import { createStoredKeys, type StoredKey } from '../../admin/stored-keys.ts';
import { whenThere, type MaybePromise } from '../../shared/async/maybe-promise.ts';
import { identifyPerson, personNeeded, type PersonSource } from './identify-person.ts';
import { openModeRefusal, single, strangerRefusal } from './open-mode.ts';

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
  /** Callers of another issuer, whose tokens are checked elsewhere. */
  foreign?: Pick<OidcCallers, 'findById'> | undefined;
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
/**
 * Finds the caller of a request. The gateway is in open mode only on a loopback address, without `TOOLWHARF_ADMIN_KEY`, `auth.oidc` and any stored key.
 * Expired keys count too: a key that expires must never open the gateway.
 */
export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { adminKey, metricsKey, startKey, isLoopback, pepper, oidc, foreign, allowedOrigins = [] } = options;
  const fixedHash = adminKey === undefined ? undefined : digest(adminKey);
  const startHash = startKey === undefined ? undefined : digest(startKey);
  const metricsHash = metricsKey === undefined ? undefined : digest(metricsKey);
  const stored = createStoredKeys(options);

  const mayBeOpen = isLoopback && fixedHash === undefined && oidc === undefined;
  const isOpen = (): MaybePromise<boolean> => mayBeOpen && whenThere(stored.hasAny(), (hasAny) => !hasAny);

  function findByToken(token: string, source: PersonSource, needsPerson = true): MaybePromise<Caller | undefined> {
    if (isKey(token, fixedHash)) return fixedCaller;
    if (isKey(token, startHash)) return startAdministrator;
    if (oidc?.isToken(token) === true) return oidc.find(token).then((caller) => reportPerson(options, caller));
    return whenThere(stored.find(hashKey(token, pepper)), (key) => key && findOwner(options, key, { source, needsPerson }));
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
      const byToken = oidc?.findById(id) ?? foreign?.findById(id);
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

/** The key itself, or the person whom the request names. @throws GatewayError `user_required`, and as `identifyPerson` */
function findOwner(
  options: AuthenticatorOptions,
  { caller, people }: StoredKey,
  { source, needsPerson }: { source: PersonSource; needsPerson: boolean },
): MaybePromise<Caller | undefined> {
  if (people === undefined) return caller;
  return whenThere(identifyPerson(people, source, options.personTokens), (named) => {
    // Only one who was named before: a token that has just been verified has not ended.
    if (named?.tokenExpiresAt !== undefined && named.tokenExpiresAt <= options.now()) return undefined;
    if (named !== undefined) return reportPerson(options, asPerson(caller, named));
    if (needsPerson) throw personNeeded(people);
    return caller;
  });
}

function reportPerson({ onPerson }: AuthenticatorOptions, person: Caller): Caller {
  onPerson?.(person);
  return person;
}

function isKey(token: string, expected: Buffer | undefined): boolean {
  return expected !== undefined && timingSafeEqual(digest(token), expected);
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
    'Changes require the administrator key that was printed at startup: the "sk-tw-…" at the end of the link in the terminal where the gateway was started. ' +
      'Send it as "Authorization: Bearer <key>" or "x-api-key". For a permanent key, set TOOLWHARF_ADMIN_KEY.',
  );
}

/** Digests have equal length, so that `timingSafeEqual` takes the same time for every token. */
function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}

/** RFC 6750. */
export function bearerIn(headers: Credentials['headers']): string | undefined {
  return /^bearer\s+(\S+)/i.exec(single(headers['authorization']) ?? '')?.[1];
}

/** The key of a request: `Authorization: Bearer`, `x-api-key`, or Basic with the key as password. */
export function tokenOf(headers: Credentials['headers']): string | undefined {
  const bearer = bearerIn(headers);
  if (bearer !== undefined) return bearer;
  const authorization = single(headers['authorization']) ?? '';
  const value = /^basic\s+(\S+)/i.exec(authorization)?.[1];
  if (value !== undefined) {
    const pair = Buffer.from(value, 'base64').toString();
    const password = pair.slice(pair.indexOf(':') + 1);
    if (password !== '') return password;
  }
  const key = single(headers['x-api-key']);
  return key === undefined || key === '' ? undefined : key;
}
