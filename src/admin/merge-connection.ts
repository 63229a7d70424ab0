import { invalidField } from '../core/errors.ts';
import { documentOrigin, originOf } from '../shared/text/document-url.ts';
import { isDeeperThan, isJsonObject, ownValue, type JsonObject, type JsonValue } from '../shared/json/json.ts';
import { limits } from '../core/limits.ts';
import type { ToolServerRecord } from '../core/stores/registry.ts';
import { isMasked, isSecretUrl, restoreUrl, withoutSecretsInUrl } from '../shared/secrets/secret-urls.ts';
import { findHidden, redactSecretFields, restoreSecretFields, withoutSecretFields } from '../shared/secrets/secret-fields.ts';
import { toConnection, unreadableSecretsOf, withoutShownOnly } from './tool-server-wire.ts';

/**
 * Merges a change into a connection. Omitted fields stay, but secrets only if the origin of `url` stays; `config`, `info`, `oauth` and `headers` are merged
 * one level deeper. `key: ""` and `key: null` remove the key. `""` removes a header, `null` keeps it, because answers show it so; `headers: null` removes
 * all.
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
    ...(isJsonObject(given['oauth']) && {
      oauth: withClientSecret(record, { ...withoutClientSecret(before['oauth']), ...given['oauth'] }),
    }),
    ...(isFirstKey(before, given) && { auth_type: 'bearer' }),
  };
}

/**
 * The names of secrets that were dropped because the new URL has another origin: `key`, `headers.x-token`, `path`, `oauth`, `config.webhook`. Secrets
 * that were replaced by new values do not count.
 */
export function droppedSecrets(before: ToolServerRecord, after: ToolServerRecord): string[] {
  if (originOf(before.url) === originOf(after.url)) return [];
  const left = new Set(secretsOf(after).map((name) => name.toLowerCase()));
  return secretsOf(before).filter((name) => !left.has(name.toLowerCase()));
}

/** The record whose secrets a change may reuse. If the new `url` has another origin, it has none, because they were meant for the previous one. */
function secretsSourceFor(record: ToolServerRecord, change: JsonObject): ToolServerRecord {
  const url = ownValue(change, 'url');
  if (typeof url !== 'string' || originOf(url) === originOf(record.url)) return record;
  const { key: _key, oauth, ...rest } = record;
  const { clientSecret: _secret, ...shownOAuth } = oauth ?? {};
  const { unreadable_secrets: _mark, ...extra } = record.extra;
  const isDocumentMoved = documentOrigin({ url, path: record.path }) !== documentOrigin(record);
  return {
    ...rest,
    ...(oauth && { oauth: shownOAuth }),
    headers: {},
    extra: withoutSecretFields(extra),
    path: isDocumentMoved ? withoutSecretsInUrl(record.path) : record.path,
  };
}

/** Removes headers with the value `null`, which clients send back as they were shown. @throws GatewayError for a redacted secret within a URL. */
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
    ...(record.oauth?.clientSecret === undefined ? [] : ['oauth.client_secret']),
    ...(isSecretUrl(record.path) ? ['path'] : []),
    ...hidden.flatMap((name) => (name === 'config' || name === 'info' ? inside(name) : [name])),
  ];
  return [...new Set([...secrets, ...unreadableSecretsOf(record)])];
}

/** Restores redacted secrets in unknown fields and in `path`. */
function restoreUnknown(record: ToolServerRecord, given: JsonObject): JsonObject {
  // Left to the parser, which refuses it.
  if (isDeeperThan(given, limits.documentDepth)) return given;
  const path = ownValue(given, 'path');
  const { unreadable_secrets: _mark, ...extra } = record.extra;
  return {
    ...restoreSecretFields(extra, given),
    ...(typeof path === 'string' && { path: restorePath(record, { url: ownValue(given, 'url'), path }) }),
  };
}

/** With another origin no secret is reused, and the placeholder must not be stored as if it were one. */
function restorePath(record: ToolServerRecord, { url, path: given }: { url: JsonValue | undefined; path: string }): string {
  const document = { url: typeof url === 'string' ? url : record.url, path: given };
  const isSameOrigin = documentOrigin(document) === documentOrigin(record);
  const path = isSameOrigin ? restoreUrl(record.path, given) : given;
  if (!isMasked(path) || (isSameOrigin && isMasked(record.path))) return path;
  throw invalidField('path', '"[secret]" is a placeholder for a value that is not shown. Send the value itself.');
}

/** Whether a key is added to a connection without authentication, which then uses `bearer`. */
function isFirstKey(before: JsonObject, given: JsonObject): boolean {
  return Boolean(given['key']) && before['auth_type'] === 'none' && !Object.hasOwn(given, 'auth_type');
}

/**
 * Completes an entry of a list that replaces all connections: only secrets are taken from the previous record, and with the key its auth type, if the
 * entry names none. `null` as a header keeps its value; omitting `headers` keeps all.
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
    ...oauthOf(record, entry),
  };
}

/** Where the entry keeps `oauth` as it is shown, or leaves it out. */
function oauthOf(record: ToolServerRecord, entry: JsonObject): JsonObject {
  const { oauth } = entry;
  if (isJsonObject(oauth)) return { oauth: withClientSecret(record, oauth) };
  return oauth === undefined && entry['auth_type'] === 'oauth' && record.oauth ? { oauth: toConnection(record)['oauth'] } : {};
}

/** Left out or as it is shown, `client_secret` stays, but only that of the same client and the same place to send it to; `""` removes it. */
function withClientSecret({ oauth = {} }: ToolServerRecord, { client_secret: given, ...fields }: JsonObject): JsonObject {
  if (given !== undefined && given !== null) return { ...fields, client_secret: given };
  const { token_url: tokenUrl } = fields;
  const isSamePlace = originOf(oauth.tokenUrl ?? '') === originOf(typeof tokenUrl === 'string' ? tokenUrl : '');
  const isSame = oauth.clientSecret !== undefined && isSamePlace && fields['client_id'] === oauth.clientId;
  return isSame ? { ...fields, client_secret: oauth.clientSecret } : fields;
}

function withoutClientSecret(oauth: JsonValue | undefined): JsonObject {
  const { client_secret: _secret, ...fields } = isJsonObject(oauth) ? oauth : {};
  return fields;
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

/** `null` keeps the previous value of a header, even one that cannot be decrypted. Without a previous value, `null` is left to the parser, which refuses it. */
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
 * Refuses placeholders of secrets in a connection that has no previous record to restore them from: `[secret]`, and `null` if fields that only answers
 * have are present. They would be stored as if they were secrets.
 * @throws GatewayError `invalid_request`
 */
export function rejectRedactedSecrets(value: unknown): void {
  if (!isJsonObject(value)) return;
  // The parser checks `key` and `headers`; documents are never redacted, and a report is dropped.
  const { key: _key, headers: _headers, spec: _spec, report: _report, ...fields } = value;
  const param = findHidden(fields, { areNullsHidden: 'has_key' in value });
  if (param === undefined) return;
  throw invalidField(param, 'this is a placeholder for a secret. Send the secret itself.');
}
