import { isJsonObject, ownValue } from '../../shared/json.ts';
import type { JsonObject, JsonValue } from '../../shared/json.ts';
import type { ToolServerRecord } from '../../core/registry.ts';
import { isSecretUrl, redactUrl } from '../../shared/secrets/secret-urls.ts';
import { redactSecretFields } from '../../shared/secrets/secret-fields.ts';

/** What the database keeps in the clear of a tool server, beside its sealed `key` and `headers`. */
export type StoredRecord = Omit<ToolServerRecord, 'key' | 'headers'>;

/** Objects of `extra` whose fields are sealed one by one, so that settings of the gateway within them stay readable. */
const opened = new Set(['config', 'info']);
/** The whole path of the document: a parameter within it may be a key. */
const pathName = JSON.stringify(['path']);

/** Splits what the gateway has no word for, and the path, into what may lie there for everybody to read and what may not; names are JSON of the place. */
export function splitSecretParts(record: StoredRecord): { shown: StoredRecord; secrets: Map<string, string> } {
  const secrets = new Map<string, string>();
  // Whatever is hidden there has to be sealed here, so the one is told by the other.
  const extra = redactSecretFields(record.extra);
  for (const [name, value] of hiddenFields(record.extra, extra)) {
    const shown = ownValue(extra, name);
    const inner = opened.has(name) && isJsonObject(value) && isJsonObject(shown) ? hiddenFields(value, shown) : undefined;
    if (inner === undefined) secrets.set(JSON.stringify([name]), JSON.stringify(value));
    for (const [field, child] of inner ?? []) secrets.set(JSON.stringify([name, field]), JSON.stringify(child));
  }
  if (isSecretUrl(record.path)) secrets.set(pathName, JSON.stringify(record.path));
  if (secrets.size === 0) return { shown: record, secrets };
  return { shown: { ...record, path: redactUrl(record.path), extra }, secrets };
}

/** The record with its secret parts back in their places. */
export function joinSecretParts(record: StoredRecord, parts: ReadonlyMap<string, string>): StoredRecord {
  if (parts.size === 0) return record;
  let { path } = record;
  const extra = new Map(Object.entries(record.extra));
  for (const [name, text] of parts) {
    const value = JSON.parse(text) as JsonValue;
    const [first = '', second] = toPlace(name);
    const holder = extra.get(first);
    if (name === pathName) path = typeof value === 'string' ? value : path;
    else if (second === undefined) extra.set(first, value);
    else extra.set(first, { ...(isJsonObject(holder) ? holder : {}), [second]: value });
  }
  return { ...record, path, extra: Object.fromEntries(extra) };
}

/** Whether a record still shows a part as it is shown without its secrets: then nobody gave it a new value. */
export function isPartUntouched(record: StoredRecord, name: string, before: StoredRecord): boolean {
  const value = partOf(record, name);
  return value !== undefined && JSON.stringify(value) === JSON.stringify(partOf(before, name));
}

/** As answers and messages name it: `oauth`, `config.webhook`, `path`. */
export function nameOfPart(name: string): string {
  return toPlace(name).join('.');
}

/** What shows that nothing in it is hidden is the same value. */
function hiddenFields(fields: JsonObject, shown: JsonObject): [string, JsonValue][] {
  return Object.entries(fields).flatMap(([name, value]): [string, JsonValue][] =>
    value === undefined || ownValue(shown, name) === value ? [] : [[name, value]],
  );
}

function partOf(record: StoredRecord, name: string): JsonValue | undefined {
  if (name === pathName) return record.path;
  const [first = '', second] = toPlace(name);
  const value = ownValue(record.extra, first);
  if (second === undefined) return value;
  return isJsonObject(value) ? ownValue(value, second) : undefined;
}

function toPlace(name: string): string[] {
  const place: unknown = JSON.parse(name);
  return Array.isArray(place) ? place.map(String) : [];
}
