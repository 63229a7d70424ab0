import { describeSchemaIssue } from '../shared/describe-schema-issue.ts';
import { toDocumentUrl, usualDocumentPath } from '../shared/document-url.ts';
import { GatewayError } from '../core/errors.ts';
import type { JsonObject } from '../shared/json.ts';
import type { Origin, ToolServerRecord } from '../core/registry.ts';
import { connectionSchema } from './connection-schema.ts';
import type { Connection } from './connection-schema.ts';
import { processScheme, readProcessConnection } from './process-connection.ts';
import type { ProcessSettings } from './process-connection.ts';

/** Every chat looks at all of them. */
const maxConnections = 1_000;

const maxIdLength = 64;

/** Words of ours, and `access_control`, which the gateway's keys replace; everything else in `config` is kept. */
const ownConfigKeys = new Set([
  'enable',
  'default',
  'function_name_filter_list',
  'tags',
  'timeout_ms',
  'max_result_bytes',
  'access_control',
]);
const ownInfoKeys = new Set(['id', 'name', 'description']);
const ownKeys = new Set([
  'id',
  'url',
  'path',
  'base_path',
  'type',
  'spec',
  'auth_type',
  'auth_name',
  'key',
  'headers',
  'config',
  'info',
  'process',
]);

/** What an id is made from that a connection does not name itself. */
export interface IdSource {
  /** Of the server's document. */
  title?: string | undefined;
  /** Ids that are in use. */
  taken?: ReadonlySet<string>;
}

/**
 * One connection in the gateway's or Open WebUI's shape. Its id is `id`, else `info.id`, else made from the title of its document, where that is
 * known, else from the URL; one that was made gets a number where it is taken.
 * @throws GatewayError `invalid_request`; message and `param` name the field, and no value is repeated.
 */
export function parseToolServerConnection(value: unknown, origin: Origin, { title, taken = new Set() }: IdSource = {}): ToolServerRecord {
  const connection = checked(value, { place: [], origin });
  const wanted = wantedId(connection, title);
  return toRecord(connection, ownId(connection) === '' ? freeId(wanted, new Set(taken)) : wanted, origin);
}

/**
 * A list of connections; `titles` has those of their documents by index, where they are known. An `id` that is there twice is an error; ids that were derived get a number instead, so that a list from elsewhere works.
 * @param taken ids of records that come from another place.
 * @throws GatewayError `invalid_request`, its path beginning with the entry's index.
 */
export function parseToolServerConnections(
  value: unknown,
  origin: Origin,
  { taken = new Set(), titles = new Map() }: Pick<IdSource, 'taken'> & { titles?: ReadonlyMap<number, string> } = {},
): ToolServerRecord[] {
  if (!Array.isArray(value)) throw invalid([], 'must be an array of connections');
  if (value.length > maxConnections) throw invalid([], `must not have more than ${maxConnections} connections`);
  const connections = value.map((entry: unknown, index) => checked(entry, { place: [index], origin }));
  const used = new Set(taken);
  // All written ids first: an earlier entry without one must not take a later entry's name.
  for (const [index, connection] of connections.entries()) {
    if (!connection.id) continue;
    const id = legalId(connection.id);
    if (used.has(id)) throw invalid([index, 'id'], `"${id}" is already used; give each connection its own id`);
    used.add(id);
  }
  return connections.map((connection, index) => {
    const wanted = wantedId(connection, titles.get(index));
    const id = connection.id ? wanted : freeId(wanted, used);
    return toRecord(connection, id, origin);
  });
}

type CheckedConnection = Connection & { process?: ProcessSettings };

function checked(value: unknown, { place, origin }: { place: readonly PropertyKey[]; origin: Origin }): CheckedConnection {
  const started = readProcessConnection(value, origin);
  if (started.type === 'wrong') throw invalid([...place, ...started.path], started.problem);
  const parsed = connectionSchema.safeParse('value' in started ? started.value : value);
  if (parsed.success) {
    // Unknown words pass the schema; this one would start what it names.
    const { process: _foreign, ...data }: Connection = parsed.data;
    if (started.type === 'named') return { ...data, url: started.url };
    return started.type === 'process' ? { ...data, process: started.process } : { ...data, ...toDocumentUrl(data.url, data.path) };
  }
  const [issue] = parsed.error.issues;
  throw invalid([...place, ...(issue?.path ?? [])], describeSchemaIssue(issue));
}

function invalid(place: readonly PropertyKey[], problem: string): GatewayError {
  const path = place.join('.');
  return new GatewayError(
    'invalid_request',
    path === '' ? `the value ${problem}` : `${path}: ${problem}`,
    path === '' ? {} : { param: path },
  );
}

/** Empty where the connection names none that could be used. */
function ownId(connection: Connection): string {
  return legalId(connection.id ?? '') || legalId(connection.info?.id ?? '');
}

function wantedId(connection: Connection, title = ''): string {
  const { host, pathname } = new URL(connection.url);
  return ownId(connection) || legalId(title) || legalId(`${host}${pathname}`) || 'server';
}

function legalId(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^a-z0-9_-]+/g, '-')
    .replace(/^-+/, '')
    .slice(0, maxIdLength)
    .replace(/-+$/, '');
}

function freeId(wanted: string, used: Set<string>): string {
  let id = wanted;
  for (let number = 2; used.has(id); number += 1) id = `${wanted.slice(0, maxIdLength - 6)}-${number}`;
  used.add(id);
  return id;
}

function toRecord(connection: CheckedConnection, id: string, origin: Origin): ToolServerRecord {
  const { config, info, process } = connection;
  const asked = connection.id || info?.id;
  // Open WebUI keeps the text of a document beside an address and says with `spec_type` which of the two counts.
  const spec = connection.spec_type === 'url' ? undefined : connection.spec;
  return {
    id,
    origin,
    url: process === undefined ? connection.url : `${processScheme}${process.command}`,
    path: connection.path ?? usualDocumentPath,
    type: connection.type ?? 'openapi',
    authType: connection.auth_type ?? (connection.key ? 'bearer' : 'none'),
    headers: connection.headers ?? {},
    isEnabled: config?.enable ?? true,
    isDefault: config?.default ?? true,
    functionFilter: config?.function_name_filter_list ?? [],
    tags: config?.tags ?? [],
    extra: extraOf(connection),
    ...(process && { process }),
    ...(asked && asked !== id && { wantedId: asked }),
    ...(connection.base_path && { basePath: connection.base_path }),
    ...(spec && { spec: spec as JsonObject | string }),
    ...(connection.auth_name && { authName: connection.auth_name }),
    ...(connection.key && { key: connection.key }),
    ...(info?.name && { name: info.name }),
    ...(info?.description && { description: info.description }),
    ...(config?.timeout_ms && { timeoutMs: config.timeout_ms }),
    ...(config?.max_result_bytes && { maxResultBytes: config.max_result_bytes }),
  };
}

function extraOf(connection: Connection): JsonObject {
  const config = without(connection.config ?? {}, ownConfigKeys);
  const info = without(connection.info ?? {}, ownInfoKeys);
  return {
    ...without(connection, ownKeys),
    ...(Object.keys(config).length > 0 && { config }),
    ...(Object.keys(info).length > 0 && { info }),
  };
}

function without(object: object, keys: ReadonlySet<string>): JsonObject {
  const entries = Object.entries(object as JsonObject);
  return Object.fromEntries(entries.filter(([key, value]) => !keys.has(key) && value !== undefined));
}
