import type { JsonObject, JsonValue } from '../shared/json.ts';
import { isJsonObject, ownValue } from '../shared/json.ts';
import type { ToolServerRecord } from '../core/registry.ts';
import { redactUrl } from '../shared/secrets/secret-urls.ts';
import { redactSecretFields } from '../shared/secrets/secret-fields.ts';
import type { ToolServerReport } from '../core/tool-server-report.ts';

/** Fields of an answer that are no part of the connection itself; ignored where a client sends an answer back. */
const shownOnly = new Set(['has_key', 'origin', 'report', 'unreadable_secrets']);

/**
 * A connection as every endpoint shows it: its fields, those that the gateway does not know, and instead of secrets `has_key` and the
 * names of the headers, `{"x-token": null}`. An unknown field that looks like a secret is `null` too, and `[secret]` stands for
 * one within an address. Sent back as it is, it changes nothing.
 */
export function toConnectionWire(record: ToolServerRecord): JsonObject {
  const unreadable = unreadableSecretsOf(record);
  const { unreadable_secrets: mark, ...extra } = record.extra;
  const { key: _key, headers, ...rest } = toConnection({ ...record, extra: redactSecretFields(extra), path: redactUrl(record.path) });
  const lost = unreadable.flatMap((field) => (field.startsWith('headers.') ? [field.slice('headers.'.length)] : []));
  const names = [...Object.keys(isJsonObject(headers) ? headers : {}), ...lost];
  return {
    ...rest,
    ...(mark !== undefined && { unreadable_secrets: mark }),
    headers: Object.fromEntries(names.map((name) => [name, null])),
    has_key: record.key !== undefined || unreadable.includes('key'),
    origin: record.origin,
  };
}

/** In Open WebUI's shape: the key is there and empty, the filter is one line of text, the id is in `info`. */
export function toOpenWebUiWire(record: ToolServerRecord): JsonObject {
  const { id: _id, has_key: _hasKey, config, ...rest } = toConnectionWire(record);
  return {
    ...rest,
    key: '',
    config: { ...(isJsonObject(config) ? config : {}), function_name_filter_list: record.functionFilter.join(',') },
  };
}

/** The whole connection with its secrets, as it could have been sent: parsing it gives the record again. Stays inside. */
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
    headers: { ...record.headers },
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

/** What was sent, without the fields that only answers have. Anything but an object stays as it is, for the parser to refuse. */
export function withoutShownOnly(value: unknown): unknown {
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([key]) => !shownOnly.has(key)));
}

/** The schemas of hundreds of functions, for each of many servers, would make a list of megabytes: they are in the single connection's report. */
export function toListedReport(report: ToolServerReport): JsonObject {
  return { ...toReportWire(report), functions: report.functions.map(({ parameters: _parameters, ...entry }) => entry) };
}

/** A report as its JSON; `info` and `version` are null where they are unknown. */
export function toReportWire(report: ToolServerReport): JsonObject {
  return { ...(report as unknown as JsonObject), info: report.info ?? null, version: report.version ?? null };
}

/** A registry that cannot read a secret says so in `extra`: `["key", "headers.x-token"]`. */
export function unreadableSecretsOf(record: ToolServerRecord): string[] {
  const marked: JsonValue | undefined = ownValue(record.extra, 'unreadable_secrets');
  return Array.isArray(marked) ? marked.filter((entry) => typeof entry === 'string') : [];
}
