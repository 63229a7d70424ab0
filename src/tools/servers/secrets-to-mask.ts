import type { ToolServerRecord } from '../../core/stores/registry.ts';
import { secretsInUrl } from '../../shared/secrets/secret-urls.ts';
import { isSecretHeader, isSecretName } from '../../shared/secrets/secret-names.ts';
import { createSecretMask, type Secret, type SecretMask } from '../../shared/secrets/secret-mask.ts';
import { callHeaders, callQuery } from './connection-headers.ts';

/** The needed fields of a connection, registered or from a request. */
export type Connected = Pick<ToolServerRecord, 'authType' | 'authName' | 'key' | 'headers'> &
  Partial<Pick<ToolServerRecord, 'path' | 'process'>>;

/** Headers whose values a server may repeat, because they are no secrets. */
const publicHeader = /^(?:accept(?:-.*)?|content-type|user-agent|origin|referer|cache-control|prefer)$/;

/** `name`: in lower case. */
export function isPublicHeader(name: string): boolean {
  return publicHeader.test(name);
}

/** For results. Only credentials are redacted: an id of the run, sent in another header, may legitimately be in a result. */
export function maskOfCredentials(connection: Connected): SecretMask {
  return createSecretMask(credentialsOf(connection));
}

/** For messages, documents and reports, which must not repeat anything that was sent. */
export function maskOfEverythingSent(connection: Connected): SecretMask {
  const known = masks.get(connection);
  if (known !== undefined) return known;
  const mask = createSecretMask(everythingSent(connection));
  masks.set(connection, mask);
  return mask;
}
/** Records do not change, and a list of a thousand of them needs the mask of each. */
const masks = new WeakMap<Connected, SecretMask>();

/** Everything that requests of this connection send, except public headers. */
export function everythingSent(connection: Connected): Secret[] {
  const headers = Object.entries(headersOf(connection)).flatMap(([name, value]) => (isPublicHeader(name) ? [] : [value]));
  return [...headers, ...Object.values(connection.process?.environment ?? {}), ...credentialsOf(connection)];
}

/**
 * Matches JSON Web Tokens with the gateway's header (`{"alg":"EdDSA",`), for any user. Also matches the mere beginning of one: a text with many
 * beginnings would otherwise take quadratic time.
 */
const sessionToken = /eyJhbGciOiJFZERTQSIs[\w-]*(?:\.[\w-]+\.[\w-]+)?/g;

/** The session tokens that a server may not repeat. */
export function sessionSecrets(hasSession: boolean): Secret[] {
  return hasSession ? [sessionToken] : [];
}

function credentialsOf(connection: Connected): Secret[] {
  const { args = [], environment = {} } = connection.process ?? {};
  const named = Object.entries({ ...headersOf(connection), ...environment }).filter(([name]) => isSecretHeader(name));
  const inAddresses = [...args, ...Object.values(environment), connection.path ?? ''].flatMap(secretsInUrl);
  return [
    connection.key ?? '',
    ...named.map(([, value]) => value),
    ...Object.values(callQuery(connection)),
    ...secretsInArguments(args),
    ...inAddresses,
    ...sessionSecrets(connection.authType === 'session'),
  ];
}

function headersOf(connection: Connected): Record<string, string> {
  return callHeaders(connection, undefined);
}

/** The values of `--api-key VALUE`, `--token=VALUE` and `TOKEN=VALUE`. */
function secretsInArguments(args: readonly string[]): string[] {
  return args.flatMap((argument, index) => {
    const [name = '', ...value] = argument.split('=');
    if (!isSecretName(name)) return [];
    if (value.length > 0) return [value.join('=')];
    return name.startsWith('-') ? [args[index + 1] ?? ''] : [];
  });
}
