import type { BackendConfig } from '../core/models/backend-config.ts';
import { isJsonObject, type JsonObject } from '../shared/json/json.ts';
import { withoutUndefined } from '../shared/json/without-undefined.ts';

/** What a backend answered when its models were listed last. */
export interface BackendState {
  state: string;
  /** Models that it offers. */
  models: number;
  /** Why its models cannot be listed. */
  error?: string;
}

/** Fields of an answer that are no part of the entry; ignored when a client sends an answer back. */
const shownOnly = new Set([
  'has_key',
  'origin',
  'optional',
  'unreadable_secrets',
  'state',
  'model_count',
  'model_details',
  'fault',
  'warnings',
]);

/** An entry as every endpoint shows it: instead of secrets `has_key` and the names of the headers. Sending it back unchanged changes nothing. */
export function toBackendWire(backend: BackendConfig, report: BackendState | undefined): JsonObject {
  const { key, headers, unreadableSecrets: unreadable = [], isExplicit, origin } = backend;
  const lost = unreadable.flatMap((field) => (field.startsWith('headers.') ? [field.slice('headers.'.length)] : []));
  return {
    ...toShownEntry(backend),
    headers: Object.fromEntries([...Object.keys(headers), ...lost].map((name) => [name, null])),
    has_key: key !== undefined || unreadable.includes('key'),
    origin,
    ...(!isExplicit && { optional: true }),
    ...(unreadable.length > 0 && { unreadable_secrets: [...unreadable] }),
    state: report?.state ?? 'unknown',
    model_count: report?.models ?? 0,
    fault: report?.error ?? null,
  };
}

/** The whole entry with its secrets, as in a request: parsing it returns the same backend. Never sent to clients. */
export function toBackendEntry(backend: BackendConfig): JsonObject {
  const { key, headers } = backend;
  return { ...toShownEntry(backend), headers: { ...headers }, ...(key !== undefined && { key }) };
}

function toShownEntry(backend: BackendConfig): JsonObject {
  const { name, kind, url, urls, prefix, models, maxConcurrent, queue, fallbacks, toolImages, schemas, maxContext } = backend;
  return withoutUndefined({
    id: name,
    type: kind,
    ...(urls.length > 1 ? { urls: [...urls] } : { url }),
    prefix,
    models: models && [...models],
    max_concurrent: maxConcurrent,
    queue,
    fallbacks: fallbacks && [...fallbacks],
    tool_images: toolImages,
    schemas,
    max_context: kind === 'ollama' ? maxContext : undefined,
  });
}

/** Removes the fields that only answers have. Anything but an object is left to the parser, which refuses it. */
export function withoutShownOnly(value: unknown): unknown {
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([field]) => !shownOnly.has(field)));
}
