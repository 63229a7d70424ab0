import { GatewayError } from '../core/errors.ts';
import type { JsonObject } from '../core/json.ts';
import { isDeeperThan, isJsonObject, ownValue } from '../core/json.ts';
import { limits } from '../core/limits.ts';
import type { ToolServerRecord } from '../core/registry.ts';
import { isMasked, restoreAddress } from '../core/secret-addresses.ts';
import { restoreSecretFields } from '../core/secret-fields.ts';
import { toConnection, unreadableSecretsOf, withoutShownOnly } from './tool-server-wire.ts';

/**
 * A change laid over what is there. Fields left out stay; `config`, `info` and `headers` are merged one level deeper. `key: ""` and `key: null`
 * take the key away; a header is taken away by `""`, and stays with `null`, which is how it is shown; `headers: null` takes all away.
 */
export function mergeConnection(record: ToolServerRecord, change: JsonObject): JsonObject {
  const before = toConnection(record);
  const given = restoreUnknown(record, withoutShownOnly(change) as JsonObject);
  const headers = ownValue(given, 'headers');
  return {
    ...before,
    ...given,
    ...(isJsonObject(given['config']) && { config: { ...(before['config'] as JsonObject), ...given['config'] } }),
    ...(isJsonObject(given['info']) && { info: { ...(before['info'] as JsonObject), ...given['info'] } }),
    ...(isJsonObject(headers) && { headers: mergeHeaders(record, headers, record.headers) }),
    ...(isFirstKey(before, given) && { auth_type: 'bearer' }),
  };
}

/** Secrets in keys that the gateway has no word for, and in the path. A path that was left out is not one of an answer. */
function restoreUnknown(record: ToolServerRecord, given: JsonObject): JsonObject {
  // For the parser to refuse.
  if (isDeeperThan(given, limits.documentDepth)) return given;
  const path = ownValue(given, 'path');
  const { unreadable_secrets: _mark, ...extra } = record.extra;
  return {
    ...restoreSecretFields(extra, given),
    ...(typeof path === 'string' && { path: restorePath(record.path, path) }),
  };
}

/** Under a new name there is no secret to take over, and what only stands for one must not be kept as one. */
function restorePath(before: string, given: string): string {
  const path = restoreAddress(before, given);
  if (!isMasked(path) || isMasked(before)) return path;
  throw new GatewayError('invalid_request', 'path: "[secret]" stands for a value that is not shown. Write the value.', { param: 'path' });
}

/** A key for a connection that had no use for one is meant to be sent. */
function isFirstKey(before: JsonObject, given: JsonObject): boolean {
  return Boolean(given['key']) && before['auth_type'] === 'none' && !Object.hasOwn(given, 'auth_type');
}

/**
 * An entry of a list that replaces all: only what clients are never shown is taken over from the record before, the key with its way of being
 * sent where none is named. `null` values of headers stand for the values before; `headers` left out means all of them.
 */
export function keepSecrets(record: ToolServerRecord, sent: JsonObject): JsonObject {
  const entry = restoreUnknown(record, { config: {}, info: {}, ...sent });
  const headers = ownValue(entry, 'headers');
  return {
    ...entry,
    ...(headers === undefined && { headers: { ...record.headers } }),
    ...(isJsonObject(headers) && { headers: mergeHeaders(record, headers, {}) }),
    ...(ownValue(entry, 'key') === undefined && keyOf(record, entry)),
  };
}

function keyOf(record: ToolServerRecord, entry: JsonObject): JsonObject {
  if (record.key === undefined) return {};
  const isNamed = typeof entry['auth_type'] === 'string';
  return {
    key: record.key,
    ...(!isNamed && { auth_type: record.authType }),
    ...(!isNamed && record.authName !== undefined && entry['auth_name'] === undefined && { auth_name: record.authName }),
  };
}

/** A `null` without a value before stays, for the parser to refuse, unless the store could only not read it: then it is kept there. */
function mergeHeaders(record: ToolServerRecord, given: JsonObject, base: Record<string, string>): JsonObject {
  const unreadable = new Set(unreadableSecretsOf(record));
  const merged = new Map<string, JsonObject[string]>(Object.entries(base));
  for (const [name, value] of Object.entries(given)) {
    const known = Object.entries(record.headers).find(([other]) => other.toLowerCase() === name.toLowerCase());
    if (known !== undefined) merged.delete(known[0]);
    if (value === '') continue;
    if (value === null && unreadable.has(`headers.${name}`)) continue;
    merged.set(name, value === null && known !== undefined ? known[1] : value);
  }
  return Object.fromEntries(merged);
}
