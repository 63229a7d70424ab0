import { effect, signal } from '@preact/signals';
import { allowServers, readDocument } from '../../../api/session.ts';
import { addressOf } from '../../../parts/forms/address.ts';

/** A tool server whose calls this browser sends itself, with its own network; kept in this browser. */
interface BrowserServer {
  url: string;
  name: string;
  key?: string;
  isOn: boolean;
  /** How many functions its document had when it was last read. */
  functions: number;
}

const place = 'toolwharf.browser-servers';
/** Of a browser. */
const maxServers = 20;

export const browserServers = signal<readonly BrowserServer[]>(read());
/** By URL; read again in each page. */
const documents = new Map<string, unknown>();

function read(): BrowserServer[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(place) ?? '[]');
    return Array.isArray(kept) ? (kept as BrowserServer[]) : [];
  } catch {
    return [];
  }
}

effect(() => {
  localStorage.setItem(place, JSON.stringify(browserServers.value));
  allowServers(browserServers.value.filter(({ isOn }) => isOn));
});

/** @throws Error with the cure, when it cannot be read from here */
export async function addBrowserServer(address: string, key: string | undefined): Promise<void> {
  const url = addressOf(address)?.replace(/\/(?:openapi\.json)?$/, '');
  if (url === undefined) throw new Error('This is no address. It is one of HTTP, without spaces, such as http://192.168.1.20:8000.');
  if (browserServers.value.length >= maxServers) throw new Error(`A browser keeps ${maxServers} servers; remove one first.`);
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

/** For a chat; one that cannot be reached now is left out, and named. */
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
