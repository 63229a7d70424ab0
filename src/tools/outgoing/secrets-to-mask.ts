import type { ToolServerRecord } from '../../core/stores/registry.ts';
import { secretsInUrl } from '../../shared/secrets/secret-urls.ts';
import { isSecretHeader, isSecretName } from '../../shared/secrets/secret-names.ts';
import { createSecretMask, type Secret, type SecretMask } from '../../shared/secrets/secret-mask.ts';
import { callHeaders, callQuery, fixedPartsOf } from './connection-headers.ts';
import { configValue } from '../definitions/server-rules.ts';

/** The needed fields of a connection, registered or from a request. */
type Connected = Pick<ToolServerRecord, 'authType' | 'authName' | 'key' | 'headers'> &
  Partial<Pick<ToolServerRecord, 'path' | 'process' | 'extra'>>;

/** Headers whose values a server may repeat, because they are no secrets: media types, languages, versions. */
const publicHeader =
  /^(?:accept(?:-.*)?|user-agent|origin|referer|cache-control|prefer)$|(?:^|[_-])(?:(?:content|media)-type|language|locale|version)$/;

/** `name`: in lower case. */
export function isPublicHeader(name: string): boolean {
  return publicHeader.test(name) && !isSecretHeader(name);
}

/** For results, which may repeat what a call was about: the ids that a header has of its run, and what it carries on of the caller's request. */
export function maskOfCredentials(connection: Connected, forwarded: Record<string, string> = {}): SecretMask {
  const sent = { ...connection, headers: { ...forwarded, ...connection.headers } };
  return createSecretMask([...credentialsOf(sent), ...headerSecrets(connection)]);
}

/** Characters; a shorter value of a header that is not named like a credential is more likely a word of the results. */
const shortestHeaderSecret = 16;

/**
 * What results may not show of the headers that a connection adds, whatever they are called. `config.public_headers` names those that they may; a name
 * like that of a credential stays one.
 */
export function headerSecrets({
  headers,
  extra = {},
}: Pick<ToolServerRecord, 'headers'> & Partial<Pick<ToolServerRecord, 'extra'>>): Secret[] {
  const listed = configValue({ extra }, 'public_headers');
  const names = (Array.isArray(listed) ? listed : []).filter((name) => typeof name === 'string');
  const shown = new Set(names.map((name) => name.toLowerCase()));
  return Object.entries(headers)
    .filter(([name]) => !isPublicHeader(name.toLowerCase()) && !shown.has(name.toLowerCase()))
    .flatMap(([, value]) => fixedPartsOf(value))
    .flatMap((part) => [part.trim(), ...part.split(/[ =]/)])
    .filter(({ length }) => length >= shortestHeaderSecret)
    .map((whole) => ({ whole }));
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
