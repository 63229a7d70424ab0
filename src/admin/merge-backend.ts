import type { BackendConfig } from '../core/models/backend-config.ts';
import { isJsonObject, ownValue, type JsonObject, type JsonValue } from '../shared/json/json.ts';
import { originOf } from '../shared/text/document-url.ts';
import { toBackendEntry } from './backend-wire.ts';

interface MergedBackend {
  entry: JsonObject;
  /** The secrets that cannot be decrypted and that stay stored. */
  unreadable: string[];
}

/**
 * Merges a change into an entry. Omitted fields stay, and `null` removes one; but secrets stay only if the backend leads to no other origin. `key: ""`
 * removes the key. Headers are merged one by one: `""` removes one, `null` keeps it, because answers show it so; `headers: null` removes all.
 */
export function mergeBackend(known: BackendConfig, change: JsonObject): MergedBackend {
  const { url, urls, key, headers: _headers, ...before } = toBackendEntry(known);
  const isMoved = leadsElsewhere(known, change);
  const headers = ownValue(change, 'headers');
  const entry = {
    ...before,
    ...('url' in change || 'urls' in change ? {} : url === undefined ? { urls } : { url }),
    ...(key !== undefined && !isMoved && { key }),
    ...change,
    headers: headers === null ? {} : mergeHeaders(isMoved ? {} : known.headers, headers),
  };
  const unreadable = (known.unreadableSecrets ?? []).filter((field) => !isMoved && !isReplaced(field, change));
  return { entry, unreadable };
}

/** Names of secrets that a change has dropped, because the backend has another origin now: `key`, `headers.x-token`. */
export function droppedSecrets(before: BackendConfig, after: BackendConfig): string[] {
  const known = new Set(before.urls.map(originOf));
  if (after.urls.every((url) => known.has(originOf(url)))) return [];
  const left = new Set(secretsOf(after));
  return secretsOf(before).filter((name) => !left.has(name));
}

function secretsOf({ key, headers, unreadableSecrets = [] }: BackendConfig): string[] {
  const readable = [...(key === undefined ? [] : ['key']), ...Object.keys(headers).map((name) => `headers.${name}`)];
  return [...new Set([...readable, ...unreadableSecrets].map((name) => name.toLowerCase()))];
}

function leadsElsewhere({ urls }: BackendConfig, change: JsonObject): boolean {
  const known = new Set(urls.map(originOf));
  const wanted = [ownValue(change, 'url'), ownValue(change, 'urls')].flat();
  return wanted.some((url) => typeof url === 'string' && !known.has(originOf(url)));
}

/** Anything but an object is left to the parser, which refuses it. */
function mergeHeaders(known: BackendConfig['headers'], given: JsonValue | undefined): JsonValue {
  if (given === undefined) return { ...known };
  if (!isJsonObject(given)) return given;
  const merged = new Map<string, JsonValue | undefined>(Object.entries(known));
  for (const [name, value] of Object.entries(given)) {
    if (value === null) continue;
    for (const other of merged.keys()) if (other.toLowerCase() === name.toLowerCase()) merged.delete(other);
    if (value !== '') merged.set(name, value);
  }
  return Object.fromEntries(merged);
}

/** `field`: `key`, `headers.x-token`. */
function isReplaced(field: string, change: JsonObject): boolean {
  if (field === 'key') return 'key' in change;
  const headers = ownValue(change, 'headers');
  if (headers === null) return true;
  const given = isJsonObject(headers) ? Object.entries(headers) : [];
  return given.some(([name, value]) => value !== null && `headers.${name}`.toLowerCase() === field.toLowerCase());
}
