import { GatewayError } from '../core/errors.ts';
import { documentOrigin, originOf } from '../shared/document-url.ts';
import type { JsonObject, JsonValue } from '../shared/json.ts';
import { isDeeperThan, isJsonObject, ownValue } from '../shared/json.ts';
import { limits } from '../core/limits.ts';
import type { ToolServerRecord } from '../core/registry.ts';
import { isMasked, isSecretUrl, restoreUrl, withoutSecretsInUrl } from '../shared/secrets/secret-urls.ts';
import { findHidden, redactSecretFields, restoreSecretFields, withoutSecretFields } from '../shared/secrets/secret-fields.ts';
import { toConnection, unreadableSecretsOf, withoutShownOnly } from './tool-server-wire.ts';

/**
 * A change laid over what is there. Fields left out stay, secrets only while the origin of `url` stays; `config`, `info` and `headers` are merged one level deeper. `key: ""` and `key: null`
 * take the key away; a header is taken away by `""`, and stays with `null`, which is how it is shown; `headers: null` takes all away.
 */
export function mergeConnection(known: ToolServerRecord, change: JsonObject): JsonObject {
  const record = secretsSourceFor(known, change);
  const before = toConnection(record);
  const given = restoreUnknown(record, withoutDropped(known, record, withoutShownOnly(change) as JsonObject));
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

/**
 * Which secrets a record has lost by a change that leads it to another origin: `key`, `headers.x-token`, `path`, `oauth`, `config.webhook`. One that
 * was replaced by a new value is not lost.
 */
export function droppedSecrets(before: ToolServerRecord, after: ToolServerRecord): string[] {
  if (originOf(before.url) === originOf(after.url)) return [];
  const left = new Set(secretsOf(after).map((name) => name.toLowerCase()));
  return secretsOf(before).filter((name) => !left.has(name.toLowerCase()));
}

/** The record whose secrets a change may take over: without any where `url` leads to another origin, for which they were not given. */
function secretsSourceFor(record: ToolServerRecord, change: JsonObject): ToolServerRecord {
  const url = ownValue(change, 'url');
  if (typeof url !== 'string' || originOf(url) === originOf(record.url)) return record;
  const { key: _key, ...rest } = record;
  const { unreadable_secrets: _mark, ...extra } = record.extra;
  const isDocumentMoved = documentOrigin({ url, path: record.path }) !== documentOrigin(record);
  return {
    ...rest,
    headers: {},
    extra: withoutSecretFields(extra),
    path: isDocumentMoved ? withoutSecretsInUrl(record.path) : record.path,
  };
}

/** A form sends back what it was shown: the names of headers whose values it does not know. @throws GatewayError for a mask within an address. */
function withoutDropped(known: ToolServerRecord, source: ToolServerRecord, given: JsonObject): JsonObject {
  if (source === known) return given;
  rejectRedactedSecrets({ ...given, path: undefined });
  const headers = ownValue(given, 'headers');
  if (!isJsonObject(headers)) return given;
  return { ...given, headers: Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== null)) };
}

function secretsOf(record: ToolServerRecord): string[] {
  const { unreadable_secrets: _mark, ...extra } = record.extra;
  const shown = redactSecretFields(extra);
  const inside = (name: string): string[] => {
    const [value, masked] = [ownValue(extra, name), ownValue(shown, name)];
    if (!isJsonObject(value) || !isJsonObject(masked)) return [];
    return Object.keys(value).flatMap((field) => (value[field] === masked[field] ? [] : [`${name}.${field}`]));
  };
  const hidden = Object.keys(extra).filter((name) => extra[name] !== shown[name]);
  const secrets = [
    ...(record.key === undefined ? [] : ['key']),
    ...Object.keys(record.headers).map((name) => `headers.${name}`),
    ...(isSecretUrl(record.path) ? ['path'] : []),
    ...hidden.flatMap((name) => (name === 'config' || name === 'info' ? inside(name) : [name])),
  ];
  return [...new Set([...secrets, ...unreadableSecretsOf(record)])];
}

/** Secrets in fields that the gateway does not know, and in the path where one was sent. */
function restoreUnknown(record: ToolServerRecord, given: JsonObject): JsonObject {
  // For the parser to refuse.
  if (isDeeperThan(given, limits.documentDepth)) return given;
  const path = ownValue(given, 'path');
  const { unreadable_secrets: _mark, ...extra } = record.extra;
  return {
    ...restoreSecretFields(extra, given),
    ...(typeof path === 'string' && { path: restorePath(record, { url: ownValue(given, 'url'), path }) }),
  };
}

/** At another origin there is no secret to take over, and a mask must not be stored as if it were one. */
function restorePath(record: ToolServerRecord, { url, path: given }: { url: JsonValue | undefined; path: string }): string {
  const document = { url: typeof url === 'string' ? url : record.url, path: given };
  const isSameOrigin = documentOrigin(document) === documentOrigin(record);
  const path = isSameOrigin ? restoreUrl(record.path, given) : given;
  if (!isMasked(path) || (isSameOrigin && isMasked(record.path))) return path;
  throw new GatewayError('invalid_request', 'path: "[secret]" stands for a value that is not shown. Write the value.', { param: 'path' });
}

/** A key for a connection that had no use for one is meant to be sent. */
function isFirstKey(before: JsonObject, given: JsonObject): boolean {
  return Boolean(given['key']) && before['auth_type'] === 'none' && !Object.hasOwn(given, 'auth_type');
}

/**
 * An entry of a list that replaces all: only what clients are never shown is taken over from the record before, the key with its auth type
 * where none is named. `null` values of headers mean the values before; `headers` left out means all of them.
 */
export function keepSecrets(known: ToolServerRecord, sent: JsonObject): JsonObject {
  const record = secretsSourceFor(known, sent);
  const entry = restoreUnknown(record, { config: {}, info: {}, ...withoutDropped(known, record, sent) });
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

/** A `null` without a value before stays, for the parser to refuse, unless the store has one that it cannot read: then that one stays. */
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

/**
 * A connection that takes nothing over from another one must hold its secrets itself: what an answer shows instead of them (`[secret]`, and
 * `null` where fields that only answers have stand beside it) would be stored as if it were one.
 * @throws GatewayError `invalid_request`
 */
export function rejectRedactedSecrets(value: unknown): void {
  if (!isJsonObject(value)) return;
  // The parser checks the first two itself; a document is never shown with parts redacted, and a report is dropped.
  const { key: _key, headers: _headers, spec: _spec, report: _report, ...fields } = value;
  const param = findHidden(fields, { areNullsHidden: 'has_key' in value });
  if (param === undefined) return;
  throw new GatewayError('invalid_request', `${param}: this is how a secret is shown, not what it is. Send the secret itself.`, { param });
}
