import { isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../shared/json/json.ts';
import type { ToolServerRecord } from '../../core/stores/registry.ts';
import { isSecretUrl, redactUrl } from '../../shared/secrets/secret-urls.ts';
import { redactSecretFields } from '../../shared/secrets/secret-fields.ts';
import { parseExactly } from '../../shared/json/parse-exactly.ts';

/** The part of a tool server that is stored unencrypted: without its key, its headers, and the secrets in its `path` and `extra`. */
export type StoredRecord = Omit<ToolServerRecord, 'key' | 'headers'>;

/** Objects in `extra` whose fields are encrypted individually, so that settings of the gateway in them stay readable. */
const nestedFields = new Set(['config', 'info']);
/** The document's path is encrypted as a whole, because a query parameter in it may be an API key. */
const pathField = partField('path');
/** Belongs to the id of the client. */
const clientSecretField = partField('oauth', 'client_secret');

/** Separates the secrets, by field: `key`, `header:<name>`, `clientSecretField`, and `part:<JSON of the path>` with the value as JSON. */
export function splitSecrets({ key, headers, ...record }: ToolServerRecord): { shown: StoredRecord; secrets: Map<string, string> } {
  const secrets = new Map(Object.entries(headers).map(([name, value]) => [`header:${name}`, value]));
  if (key !== undefined) secrets.set('key', key);
  // Whatever responses redact must be encrypted here, so both use the same rule.
  const extra = redactSecretFields(record.extra);
  for (const [name, value] of redactedFields(record.extra, extra)) {
    const shown = ownValue(extra, name);
    const inner = nestedFields.has(name) && isJsonObject(value) && isJsonObject(shown) ? redactedFields(value, shown) : undefined;
    if (inner === undefined) secrets.set(partField(name), JSON.stringify(value));
    for (const [field, child] of inner ?? []) secrets.set(partField(name, field), JSON.stringify(child));
  }
  if (isSecretUrl(record.path)) secrets.set(pathField, JSON.stringify(record.path));
  const { clientSecret, ...oauth } = record.oauth ?? {};
  if (clientSecret !== undefined) secrets.set(clientSecretField, JSON.stringify(clientSecret));
  return { shown: { ...record, ...(record.oauth && { oauth }), path: redactUrl(record.path), extra }, secrets };
}

/** The record with its secrets back in their fields. */
export function joinSecrets(shown: StoredRecord, secrets: ReadonlyMap<string, string>): ToolServerRecord {
  const headers: [string, string][] = [];
  const extra = new Map(Object.entries(shown.extra));
  const record: ToolServerRecord = { ...shown, headers: {} };
  for (const [field, text] of secrets) {
    if (field === 'key') record.key = text;
    else if (field.startsWith('header:')) headers.push([nameOf(field), text]);
    else if (field === pathField) record.path = String(JSON.parse(text));
    else if (field === clientSecretField) record.oauth = { ...record.oauth, clientSecret: String(JSON.parse(text)) };
    else {
      const [first = '', second] = pathOf(field);
      const value = parseExactly(text) as JsonValue;
      const holder = extra.get(first);
      extra.set(first, second === undefined ? value : { ...(isJsonObject(holder) ? holder : {}), [second]: value });
    }
  }
  return { ...record, headers: Object.fromEntries(headers), extra: Object.fromEntries(extra) };
}

/** Whether a field is the same redacted value as in the previous record, which means that the caller gave no new secret. */
export function isUntouchedPart(field: string, record: StoredRecord, before: StoredRecord): boolean {
  const value = partOf(record, field);
  return value !== undefined && JSON.stringify(value) === JSON.stringify(partOf(before, field));
}

/** The field as responses and messages name it: `key`, `headers.x-token`, `oauth`, `config.webhook`, `path`. */
export function describeField(field: string): string {
  if (field === 'key') return field;
  return field.startsWith('header:') ? `headers.${nameOf(field)}` : pathOf(field).join('.');
}

function partField(...path: string[]): string {
  return `part:${JSON.stringify(path)}`;
}

function nameOf(field: string): string {
  return field.slice(field.indexOf(':') + 1);
}

function pathOf(field: string): string[] {
  return JSON.parse(nameOf(field)) as string[];
}

/** The fields that were redacted: all others have the identical value in `shown`. */
function redactedFields(fields: JsonObject, shown: JsonObject): [string, JsonValue][] {
  return Object.entries(fields).flatMap(([name, value]): [string, JsonValue][] =>
    value === undefined || ownValue(shown, name) === value ? [] : [[name, value]],
  );
}

function partOf(record: StoredRecord, field: string): JsonValue | undefined {
  if (field === pathField) return record.path;
  if (field === clientSecretField) return record.oauth?.clientId;
  const [first = '', second] = pathOf(field);
  const value = ownValue(record.extra, first);
  if (second === undefined) return value;
  return isJsonObject(value) ? ownValue(value, second) : undefined;
}
