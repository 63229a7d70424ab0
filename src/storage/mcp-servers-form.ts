import { isJsonObject, type JsonObject, type JsonValue } from '../shared/json/json.ts';

/** What other programs call the list of their MCP servers. VS Code says `servers`, which could be anything. */
const names = ['mcpServers', 'mcp_servers', 'mcp-servers'];
/** Servers whose form here is shown. */
const shownServers = 5;

/** The name under which an object has MCP servers in the form of other programs (Claude Desktop, Cursor and others); undefined: it has none. */
export function mcpServersName(object: JsonObject): string | undefined {
  return names.find((name) => isJsonObject(object[name]));
}

/** These servers as entries of `tool_servers` in the configuration file, in one line. Secrets stay out: values of `env` and `headers` become variables. */
export function toFileEntries(servers: JsonObject): string {
  const entries = Object.entries(servers)
    .slice(0, shownServers)
    .map(([id, server]) => (isJsonObject(server) ? toEntry(id, server) : `{id: ${plain(id)}, type: mcp, url: …}`));
  const more = Object.keys(servers).length > shownServers ? ', …' : '';
  return `tool_servers: [${entries.join(', ')}${more}]`;
}

/** The first server that has an address, as the body of a request; undefined if all are started by commands. */
export function toRequestBody(servers: JsonObject): string | undefined {
  for (const [id, server] of Object.entries(servers)) {
    const url = isJsonObject(server) ? addressOf(server) : undefined;
    if (url !== undefined) return JSON.stringify({ id, type: 'mcp', url });
  }
  return undefined;
}

function toEntry(id: string, server: JsonObject): string {
  const url = addressOf(server);
  const { command, args, env, headers } = server;
  const start = [
    `command: ${plain(command)}`,
    ...(Array.isArray(args) && args.length > 0 ? [`args: [${args.map(plain).join(', ')}]`] : []),
    ...variables('env', env),
  ];
  const parts = [
    `id: ${plain(id)}`,
    'type: mcp',
    ...(url === undefined ? start : [`url: ${plain(url)}`, ...variables('headers', headers)]),
  ];
  return `{${parts.join(', ')}}`;
}

function addressOf({ url, serverUrl, httpUrl }: JsonObject): string | undefined {
  const found = [url, serverUrl, httpUrl].find((value) => typeof value === 'string');
  return typeof found === 'string' ? withoutQuery(found) : undefined;
}

/** It may be a key. */
function withoutQuery(url: string): string {
  return url.replace(/[?#].*$/s, '');
}

function variables(field: string, values: JsonValue | undefined): string[] {
  if (!isJsonObject(values) || Object.keys(values).length === 0) return [];
  const list = Object.keys(values).map((name) => `${plain(name)}: "\${${name.toUpperCase().replaceAll(/[^A-Z0-9_]/g, '_')}}"`);
  return [`${field}: {${list.join(', ')}}`];
}

/** Flow style of YAML: quoted where plain text could mean something else. */
function plain(value: JsonValue | undefined): string {
  if (typeof value === 'string' && /^[A-Za-z_/.][\w/.:@-]*$/.test(value) && !/^(?:true|false|null|yes|no|on|off)$|:$/i.test(value))
    return value;
  return JSON.stringify(value ?? '');
}
