import { effect, signal } from '@preact/signals';
import { allowServers, readDocument } from '../../../api/session.ts';
import { toHttpUrl } from '../../../parts/forms/http-url.ts';
import { readList, writeItem } from '../../../storage/local-items.ts';

/** A tool server whose calls this browser sends itself, over its own network. Saved in this browser. */
export interface BrowserServer {
  url: string;
  name: string;
  key?: string;
  isOn: boolean;
  /** The number of functions in its document when it was last read. */
  functions: number;
}

const itemName = 'browser-servers';
/** Servers per browser. */
const maxServers = 20;

export const browserServers = signal<readonly BrowserServer[]>(readList(itemName));
/** OpenAPI documents by URL. Each page reads them again. */
const documents = new Map<string, unknown>();

effect(() => {
  writeItem(itemName, JSON.stringify(browserServers.value));
  allowServers(browserServers.value.filter(({ isOn }) => isOn));
});

/** @throws Error with the fix if this browser cannot read the server's document */
export async function addBrowserServer(address: string, key: string | undefined): Promise<void> {
  const url = toHttpUrl(address)?.replace(/\/(?:openapi\.json)?$/, '');
  if (url === undefined) throw new Error('Enter an http:// or https:// URL, such as http://192.168.1.20:8000.');
  if (browserServers.value.length >= maxServers) throw new Error(`A browser can have ${maxServers} servers. Remove one first.`);
  const document = await readDocument({ url, key });
  documents.set(url, document);
  const { info, paths } = (document ?? {}) as { info?: { title?: unknown }; paths?: Record<string, object> };
  const name = typeof info?.title === 'string' && info.title !== '' ? info.title : new URL(url).host;
  const functions = Object.values(paths ?? {}).reduce(
    (sum, path) => sum + Object.keys(path).filter((method) => methods.has(method)).length,
    0,
  );
  const added = { url, name, isOn: true, functions, ...(key !== undefined && { key }) };
  browserServers.value = [...browserServers.value.filter((server) => server.url !== url), added];
}

const methods = new Set(['get', 'put', 'post', 'delete', 'patch']);

export function changeBrowserServer(url: string, changes: Partial<BrowserServer>): void {
  browserServers.value = browserServers.value.map((server) => (server.url === url ? { ...server, ...changes } : server));
}

export function removeBrowserServer(url: string): void {
  documents.delete(url);
  browserServers.value = browserServers.value.filter((server) => server.url !== url);
}

/** The servers for a chat. `missing`: the names of those that cannot be reached now. */
export async function readToolServers(): Promise<{ servers: { url: string; info: object; openapi: unknown }[]; missing: string[] }> {
  const read = await Promise.all(
    browserServers.value
      .filter(({ isOn }) => isOn)
      .map(async ({ url, name, key }) => {
        const openapi = documents.get(url) ?? (await readDocument({ url, key }).catch(() => undefined));
        if (openapi !== undefined) documents.set(url, openapi);
        return { url, name, openapi };
      }),
  );
  return {
    servers: read.filter(({ openapi }) => openapi !== undefined).map(({ url, name, openapi }) => ({ url, info: { title: name }, openapi })),
    missing: read.filter(({ openapi }) => openapi === undefined).map(({ name }) => name),
  };
}
