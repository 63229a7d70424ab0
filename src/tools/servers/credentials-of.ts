import type { ToolServerRecord } from '../../core/registry.ts';
import { secretsInUrl } from '../../shared/secrets/secret-urls.ts';
import { isSecretHeader, isSecretName } from '../../shared/secrets/secret-names.ts';
import { createSecretMask, type Secret, type SecretMask } from '../../shared/secrets/secret-mask.ts';
import { callHeaders, callQuery } from './connection-headers.ts';

/** What is needed of a connection, registered or of a request. */
export type Connected = Pick<ToolServerRecord, 'authType' | 'authName' | 'key' | 'headers'> &
  Partial<Pick<ToolServerRecord, 'path' | 'process'>>;

/** Headers that a server may name without giving anything away. */
const openHeader = /^(?:accept(?:-.*)?|content-type|user-agent|origin|referer|cache-control|prefer)$/;

/** For results: an id of the run in another header may rightly be in one. */
export function maskOfCredentials(connection: Connected): SecretMask {
  return createSecretMask(credentialsOf(connection));
}

/** For messages, documents and reports, which must not repeat what was sent. */
export function maskOfEverythingSent(connection: Connected): SecretMask {
  return createSecretMask(everythingSent(connection));
}

/** What a document of this connection must not repeat. */
export function everythingSent(connection: Connected): Secret[] {
  const headers = Object.entries(headersOf(connection)).flatMap(([name, value]) => (openHeader.test(name) ? [] : [value]));
  return [...headers, ...Object.values(connection.process?.environment ?? {}), ...credentialsOf(connection)];
}

/**
 * JSON Web Tokens with the head of the gateway's own (`{"alg":"EdDSA",`), whoever they were issued for. What only begins one matches too: a text of
 * many such beginnings would otherwise be read to its end from each of them.
 */
const sessionToken = /eyJhbGciOiJFZERTQSIs[\w-]*(?:\.[\w-]+\.[\w-]+)?/g;

/** What a server may not repeat because its requests carry session tokens. */
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
