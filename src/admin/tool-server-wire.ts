import { isJsonObject, ownValue, type JsonObject, type JsonValue } from '../shared/json/json.ts';
import { withoutUndefined } from '../shared/json/without-undefined.ts';
import type { OAuthSettings, ToolServerRecord } from '../core/stores/registry.ts';
import { redactUrl } from '../shared/secrets/secret-urls.ts';
import { redactSecretFields } from '../shared/secrets/secret-fields.ts';
import type { ToolServerReport } from '../core/tools/tool-server-report.ts';

/** Fields of an answer that are not part of the connection; ignored when a client sends an answer back. */
const shownOnly = new Set(['has_key', 'origin', 'report', 'unreadable_secrets']);

/**
 * A connection as every endpoint shows it: all fields, including unknown ones, and instead of secrets `has_key` and the
 * names of the headers, `{"x-token": null}`; `client_secret` is null too. An unknown field that looks like a secret is `null` too, and `[secret]` replaces
 * one within a URL. Sending it back unchanged changes nothing.
 */
export function toConnectionWire(record: ToolServerRecord): JsonObject {
  const unreadable = unreadableSecretsOf(record);
  const { unreadable_secrets: mark, ...extra } = record.extra;
  const {
    key: _key,
    headers,
    oauth,
    ...rest
  } = toConnection({ ...record, extra: redactSecretFields(extra), path: redactUrl(record.path) });
  const lost = unreadable.flatMap((field) => (field.startsWith('headers.') ? [field.slice('headers.'.length)] : []));
  const names = [...Object.keys(isJsonObject(headers) ? headers : {}), ...lost];
  return {
    ...rest,
    ...(mark !== undefined && { unreadable_secrets: mark }),
    ...(isJsonObject(oauth) && { oauth: { ...oauth, ...(isSecretClient(record) && { client_secret: null }) } }),
    headers: Object.fromEntries(names.map((name) => [name, null])),
    has_key: record.key !== undefined || unreadable.includes('key'),
    origin: record.origin,
  };
}

/** In Open WebUI's shape: the key is present and empty, the filter is one string, the id is in `info`. */
export function toOpenWebUiWire(record: ToolServerRecord): JsonObject {
  const { id: _id, has_key: _hasKey, config, ...rest } = toConnectionWire(record);
  return {
    ...rest,
    key: '',
    config: { ...(isJsonObject(config) ? config : {}), function_name_filter_list: record.functionFilter.join(',') },
  };
}

/** The whole connection with its secrets, in the shape of a request: parsing it returns the same record. Never sent to clients. */
export function toConnection(record: ToolServerRecord): JsonObject {
  const { config, info, ...extra } = record.extra;
  return {
    ...extra,
    id: record.id,
    url: record.url,
    path: record.path,
    type: record.type,
    ...(record.basePath !== undefined && { base_path: record.basePath }),
    ...(record.spec !== undefined && { spec: record.spec }),
    auth_type: record.authType,
    ...(record.authName !== undefined && { auth_name: record.authName }),
    ...(record.key !== undefined && { key: record.key }),
    // Of `oauth` it follows, and would outlast a change of `auth_type`.
    ...(record.isPerUser === true && record.authType !== 'oauth' && { per_user: true }),
    ...(record.oauth && { oauth: toOAuth(record.oauth) }),
    headers: { ...record.headers },
    ...(record.protocolVersion !== undefined && { protocol_version: record.protocolVersion }),
    ...(record.forwardedHeaders !== undefined && { forward_headers: [...record.forwardedHeaders] }),
    config: {
      ...(isJsonObject(config) ? config : {}),
      enable: record.isEnabled,
      default: record.isDefault,
      function_name_filter_list: [...record.functionFilter],
      tags: [...record.tags],
      ...(record.timeoutMs !== undefined && { timeout_ms: record.timeoutMs }),
      ...(record.maxResultBytes !== undefined && { max_result_bytes: record.maxResultBytes }),
    },
    info: { ...(isJsonObject(info) ? info : {}), id: record.id, name: record.name ?? '', description: record.description ?? '' },
  };
}

function toOAuth({
  clientId,
  clientSecret,
  scopes,
  authorizeUrl,
  tokenUrl,
  resource,
  authorizeParameters,
  grant,
}: OAuthSettings): JsonObject {
  return withoutUndefined({
    client_id: clientId,
    client_secret: clientSecret,
    scopes,
    authorize_url: authorizeUrl,
    token_url: tokenUrl,
    resource,
    authorize_parameters: authorizeParameters,
    grant,
  });
}

function isSecretClient(record: ToolServerRecord): boolean {
  return record.oauth?.clientSecret !== undefined || unreadableSecretsOf(record).includes('oauth.client_secret');
}

/** Removes the fields that only answers have. Anything but an object is left to the parser, which refuses it. */
export function withoutShownOnly(value: unknown): unknown {
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([key]) => !shownOnly.has(key)));
}

/** A report without the functions' schemas, which would make a list several megabytes large; the report of a single connection has them. */
export function toListedReport(report: ToolServerReport): JsonObject {
  const { held } = report;
  return {
    ...toReportWire(report),
    functions: report.functions.map(({ name, operation, description, tokens }) => ({ name, operation, description, tokens })),
    ...(held && { held: held.map(({ definition: _definition, pinned: _pinned, ...rest }) => rest) }),
  };
}

/** A report as JSON; unknown `info` and `version` are null. */
export function toReportWire(report: ToolServerReport): JsonObject {
  const { nextTryMs, documentUrl, ...rest } = report;
  return {
    ...(rest as JsonObject),
    info: report.info ?? null,
    version: report.version ?? null,
    ...(nextTryMs !== undefined && { next_try_ms: nextTryMs }),
    ...(documentUrl !== undefined && { document_url: documentUrl }),
  };
}

/** Secrets that the registry could not decrypt, which it lists in `extra`: `["key", "headers.x-token"]`. */
export function unreadableSecretsOf(record: ToolServerRecord): string[] {
  const marked: JsonValue | undefined = ownValue(record.extra, 'unreadable_secrets');
  return Array.isArray(marked) ? marked.filter((entry) => typeof entry === 'string') : [];
}
