/** An MCP server that is reached at a URL. */
export interface RemoteServer {
  kind: 'remote';
  /** The name that a configuration gives it. */
  id?: string;
  url: string;
  headers: Readonly<Record<string, string>>;
  /** A bearer token. */
  key?: string;
}

/** An MCP server that is a program. Only the configuration file may start one. */
export interface CommandServer {
  kind: 'command';
  id: string;
  command: string;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  cwd?: string;
}

export type PastedServer = RemoteServer | CommandServer;

/** A bearer token becomes the key. Headers with placeholders are left out: the form asks for the key instead. */
export function toRemote(id: string, url: string, headers: Readonly<Record<string, string>>): RemoteServer {
  const known = Object.entries(headers).filter(([, value]) => !/\$\{|<[^>]+>/.test(value));
  const isToken = ([name, value]: [string, string]): boolean => name.toLowerCase() === 'authorization' && /^bearer \S/i.test(value);
  const token = known.find(isToken);
  return {
    kind: 'remote',
    ...(id !== '' && { id }),
    url,
    headers: Object.fromEntries(known.filter((entry) => entry !== token)),
    ...(token !== undefined && { key: token[1].slice('bearer '.length).trim() }),
  };
}

/** The characters that an id may have. */
export function toId(name: string): string {
  return name
    .replaceAll(/[^A-Za-z0-9._-]+/g, '-')
    .replaceAll(/^[._-]+|[._-]+$/g, '')
    .slice(0, 64);
}
