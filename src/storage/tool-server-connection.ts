import { toDocumentUrl, usualDocumentPath } from '../shared/text/document-url.ts';
import { isJsonObject, type JsonObject } from '../shared/json/json.ts';
import type { OAuthSettings, Origin, ToolServerRecord } from '../core/stores/registry.ts';
import { connectionSchema, processSchema, type Connection } from './connection-schema.ts';
import { mcpServersName, toFileEntries, toRequestBody } from './mcp-servers-form.ts';
import { filledFields, invalidAt, parseRecord } from './parse-record.ts';

/** The URL that responses show for a process is `stdio:<command>`, without arguments and environment, which may hold secrets. */
const processScheme = 'stdio:';
/** Satisfies the schema while the connection of a process is parsed; nothing is ever sent there. */
const placeholderUrl = 'http://process.invalid';
const longestUrl = 4_000;

/** Every chat iterates over all connections. */
const maxConnections = 1_000;

const maxIdLength = 64;

/** Fields with a property in the record, and `access_control`, which the gateway ignores because it has keys. The rest of `config` goes into `extra`. */
const knownConfigKeys = new Set([
  'enable',
  'default',
  'function_name_filter_list',
  'tags',
  'timeout_ms',
  'max_result_bytes',
  'access_control',
]);
const knownInfoKeys = new Set(['id', 'name', 'description']);
const knownKeys = new Set([
  'id',
  'url',
  'path',
  'base_path',
  'type',
  'spec',
  'auth_type',
  'auth_name',
  'key',
  'per_user',
  'oauth',
  'headers',
  'forward_headers',
  'protocol_version',
  'config',
  'info',
  'process',
]);

/** From what an id is derived for a connection that has none. */
interface IdSource {
  /** The title of the server's document. */
  title?: string | undefined;
  /** Ids that are in use. */
  taken?: ReadonlySet<string>;
}

/**
 * Parses one connection in the gateway's or Open WebUI's shape. Its id is `id`, else `info.id`, else derived from the title of its document if known,
 * else from the URL. A derived id that is taken gets a number appended.
 * @throws GatewayError `invalid_request`; message and `param` name the field, never its value.
 */
export function parseToolServerConnection(value: unknown, origin: Origin, { title, taken = new Set() }: IdSource = {}): ToolServerRecord {
  const connection = parseConnection(value, { path: [], origin });
  const wanted = wantedId(connection, title);
  return toRecord(connection, explicitId(connection) === '' ? freeId(wanted, new Set(taken)) : wanted, origin);
}

/**
 * Parses a list of connections. A duplicate `id` is an error; a duplicate `info.id` or derived id gets a number appended, so that imported lists
 * work.
 * @param taken ids of records outside the list.
 * @param titles titles of the connections' documents, by index, as far as they are known.
 * @throws GatewayError `invalid_request`, whose `param` begins with the entry's index.
 */
export function parseToolServerConnections(
  value: unknown,
  origin: Origin,
  { taken = new Set(), titles = new Map() }: Pick<IdSource, 'taken'> & { titles?: ReadonlyMap<number, string> } = {},
): ToolServerRecord[] {
  if (!Array.isArray(value)) throw invalidAt([], 'must be an array of connections');
  if (value.length > maxConnections) throw invalidAt([], `must not have more than ${maxConnections} connections`);
  const connections = value.map((entry: unknown, index) => parseConnection(entry, { path: [index], origin }));
  const used = new Set(taken);
  // Reserve all explicit ids first: an earlier entry without one must not be given the id of a later entry.
  for (const [index, connection] of connections.entries()) {
    if (!connection.id) continue;
    const id = legalId(connection.id);
    if (used.has(id)) throw invalidAt([index, 'id'], `"${id}" is already used; give each connection its own id`);
    used.add(id);
  }
  return connections.map((connection, index) => {
    const wanted = wantedId(connection, titles.get(index));
    const id = connection.id ? wanted : freeId(wanted, used);
    return toRecord(connection, id, origin);
  });
}

interface ConnectionContext {
  path: readonly PropertyKey[];
  origin: Origin;
}

type ParsedConnection = Connection & { process?: ToolServerRecord['process'] };

function parseConnection(value: unknown, context: ConnectionContext): ParsedConnection {
  if (isJsonObject(value)) refuseOtherForms(value, context);
  const fields = isJsonObject(value) && value['type'] === 'mcp' ? value : {};
  if ('command' in fields) return parseProcess(fields, context);
  const { url } = fields;
  // A process as responses show it, sent back by a client. The command in the URL is only shown, and never run.
  if (typeof url === 'string' && url.startsWith(processScheme) && URL.canParse(url))
    return { ...parseFields({ ...fields, url: placeholderUrl }, context), url: url.slice(0, longestUrl) };
  const connection = parseFields(value, context);
  return { ...connection, ...toDocumentUrl(connection.url, connection.path) };
}

/** @throws GatewayError for servers as other programs list them, and for a command without the type, with the form that they have here */
function refuseOtherForms(value: JsonObject, { path, origin }: ConnectionContext): void {
  const name = mcpServersName(value);
  const servers = name === undefined ? undefined : value[name];
  if (name !== undefined && isJsonObject(servers)) {
    const body = origin === 'file' ? undefined : toRequestBody(servers);
    const form = body === undefined ? `Put it into toolwharf.yaml as ${toFileEntries(servers)}` : `Send each server by itself, as ${body}`;
    throw invalidAt([...path, name], `is the form of other programs. ${form}`);
  }
  if (typeof value['command'] !== 'string' || typeof value['url'] === 'string' || value['type'] === 'mcp') return;
  throw invalidAt([...path, 'type'], 'must be "mcp" for a server that is started by a command');
}

/**
 * An MCP server that is started by a command. Only the configuration file may define one, never a request, whatever its key: the command
 * runs with the gateway's permissions.
 */
function parseProcess({ command, args, env, cwd, ...fields }: JsonObject, context: ConnectionContext): ParsedConnection {
  const { path, origin } = context;
  if (origin !== 'file') {
    const problem = 'starts a process, which only a server in toolwharf.yaml may do; elsewhere give the url of a server';
    throw invalidAt([...path, 'command'], problem);
  }
  const info = isJsonObject(fields['info']) ? fields['info'] : {};
  const given = { id: fields['id'] ?? info['id'], command, args, env, cwd };
  const { id, env: environment, cwd: folder, ...started } = parseRecord(processSchema, given, path);
  const connection = parseFields({ ...fields, id, url: placeholderUrl }, context);
  if (connection.per_user === true)
    throw invalidAt([...path, 'per_user'], 'needs a server with a url: a process is the same for everybody');
  if (connection.auth_type === 'oauth')
    throw invalidAt([...path, 'auth_type'], '"oauth" needs a server with a url: a process has no sign-in. Set the values it needs in env');
  if (connection.forward_headers?.length)
    throw invalidAt([...path, 'forward_headers'], 'needs a server with a url: a process gets no headers');
  return { ...connection, process: { ...started, environment, ...(folder !== undefined && { cwd: folder }) } };
}

/** Drops `process`: the schema accepts unknown fields, and the record would start the command in it. */
function parseFields(value: unknown, { path }: ConnectionContext): Connection {
  const { process: _untrusted, ...connection }: Connection = parseRecord(connectionSchema, value, path);
  return connection;
}

/** Empty if the connection has no usable id. */
function explicitId(connection: Connection): string {
  return legalId(connection.id ?? '') || legalId(connection.info?.id ?? '');
}

function wantedId(connection: Connection, title = ''): string {
  const { host, pathname } = new URL(connection.url);
  return explicitId(connection) || legalId(title) || legalId(`${host}${pathname}`) || 'server';
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

function toRecord(connection: ParsedConnection, id: string, origin: Origin): ToolServerRecord {
  const { config, info, process } = connection;
  const isOAuth = connection.auth_type === 'oauth';
  const isPerUser = isOAuth ? connection.oauth?.grant !== 'client_credentials' : connection.per_user === true;
  const named = connection.id || info?.id;
  // Open WebUI may send both a URL and the text of a document; `spec_type` says which of the two applies.
  const spec = connection.spec_type === 'url' ? undefined : connection.spec;
  return {
    id,
    origin,
    url: process === undefined ? connection.url : `${processScheme}${process.command}`,
    path: connection.path ?? usualDocumentPath,
    type: connection.type ?? 'openapi',
    authType: connection.auth_type ?? (connection.key || isPerUser ? 'bearer' : 'none'),
    headers: connection.headers ?? {},
    isEnabled: config?.enable ?? true,
    isDefault: config?.default ?? true,
    functionFilter: config?.function_name_filter_list ?? [],
    tags: config?.tags ?? [],
    extra: extraOf(connection),
    ...filledFields({
      process,
      wantedId: named === id ? undefined : named,
      basePath: connection.base_path,
      spec: spec as JsonObject | string | undefined,
      authName: connection.auth_name,
      key: isPerUser || isOAuth ? undefined : connection.key,
      oauth: isOAuth && connection.oauth ? toOAuthSettings(connection.oauth) : undefined,
      isPerUser: isPerUser ? (true as const) : undefined,
      forwardedHeaders: connection.forward_headers?.length ? connection.forward_headers : undefined,
      protocolVersion: connection.protocol_version,
      name: info?.name,
      description: info?.description,
      timeoutMs: config?.timeout_ms,
      maxResultBytes: config?.max_result_bytes,
    }),
  };
}

function toOAuthSettings(oauth: NonNullable<Connection['oauth']>): OAuthSettings {
  return {
    ...filledFields({
      clientId: oauth.client_id,
      clientSecret: oauth.client_secret,
      scopes: oauth.scopes,
      authorizeUrl: oauth.authorize_url,
      tokenUrl: oauth.token_url,
      resource: oauth.resource,
      authorizeParameters: oauth.authorize_parameters,
      grant: oauth.grant === 'client_credentials' ? oauth.grant : undefined,
    }),
  };
}

function extraOf(connection: Connection): JsonObject {
  const config = without(connection.config ?? {}, knownConfigKeys);
  const info = without(connection.info ?? {}, knownInfoKeys);
  return {
    ...without(connection, knownKeys),
    ...(Object.keys(config).length > 0 && { config }),
    ...(Object.keys(info).length > 0 && { info }),
  };
}

function without(object: object, keys: ReadonlySet<string>): JsonObject {
  const entries = Object.entries(object as JsonObject);
  return Object.fromEntries(entries.filter(([key, value]) => !keys.has(key) && value !== undefined));
}
