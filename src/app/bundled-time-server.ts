import { GatewayError, type ErrorCode } from '../core/errors.ts';
import type { Registry, ToolServerRecord } from '../core/stores/registry.ts';
import { keepLast } from '../shared/keep-last.ts';
import { whenThere } from '../shared/async/maybe-promise.ts';

const bundledId = 'time';
/** Stored with the record, so that a deleted bundled server is not registered again. */
export const bundledTimeFact = 'bundled_time_registered';

interface RunningTimeServer {
  url: string;
  close(): Promise<void>;
}

interface BundledTimeOptions {
  store: Registry;
  /** Tool servers of the environment and the file. */
  fixed: readonly ToolServerRecord[];
  /** `TOOLWHARF_DEMO`: true registers it at every start, false hides it, undefined registers it only if nothing was ever configured. */
  demo: boolean | undefined;
  start: () => Promise<RunningTimeServer>;
}

export interface BundledTime {
  /** The store, which shows the bundled server with its URL in this process. */
  store: Registry;
  close(): Promise<void>;
}

/**
 * Registers the bundled time server in the store at the first start without any tool server. Its entry can be changed and deleted like
 * any other, and stays deleted. The server runs only if it is registered.
 */
export async function openBundledTimeServer({ store, fixed, demo, start }: BundledTimeOptions): Promise<BundledTime> {
  const plan = demo === false ? 'hide' : await planFor(store, fixed, demo);
  if (plan === 'hide') return { store: withBundledUrl(store, undefined), close: async () => undefined };
  const server = await start();
  if (plan === 'register') await register(store, server);
  return { store: withBundledUrl(store, server.url), close: () => server.close() };
}

async function planFor(store: Registry, fixed: readonly ToolServerRecord[], demo: true | undefined): Promise<'hide' | 'run' | 'register'> {
  try {
    const stored = await store.listToolServers();
    if (stored.some(({ origin }) => origin === 'bundled')) {
      await writeRegisteredFact(store);
      return 'run';
    }
    const isTaken = [...fixed, ...stored].some(({ id }) => id === bundledId);
    if (demo === true) return isTaken ? 'hide' : 'register';
    const isFirst = fixed.length === 0 && stored.length === 0 && (await store.readFact(bundledTimeFact)) === undefined;
    return isFirst ? 'register' : 'hide';
  } catch (error) {
    if (!isAbout(error, 'storage_unavailable')) throw error;
    // Run it, because the store may become available later and contain the entry.
    return 'run';
  }
}

/** If the store cannot be written, the start continues without the entry. */
async function register(store: Registry, server: RunningTimeServer): Promise<void> {
  try {
    // The record first: if the process ends in between, the next start finds it and writes the fact.
    await store.createToolServer(bundledServer(bundledId, server.url));
    await writeRegisteredFact(store);
  } catch (error) {
    // `conflict`: another gateway with the same store was faster.
    if (isAbout(error, 'conflict') || isAbout(error, 'storage_unavailable')) return;
    await server.close();
    throw error;
  }
}

async function writeRegisteredFact(store: Registry): Promise<void> {
  if ((await store.readFact(bundledTimeFact)) === undefined) await store.writeFact(bundledTimeFact, 'yes');
}

function isAbout(error: unknown, code: ErrorCode): boolean {
  return error instanceof GatewayError && error.code === code;
}

/** A server that ships with the gateway. */
function bundledServer(id: string, url: string): ToolServerRecord {
  return {
    id,
    origin: 'bundled',
    url,
    path: 'openapi.json',
    type: 'openapi',
    authType: 'none',
    headers: {},
    isEnabled: true,
    isDefault: true,
    functionFilter: [],
    tags: [],
    extra: {},
  };
}

/**
 * The port of the bundled server changes with every start. So its records show the current URL instead of the stored one, and records with that URL
 * are stored as bundled. While the server does not run, its records are hidden.
 */
function withBundledUrl(store: Registry, url: string | undefined): Registry {
  /** The same object for the same record, because callers cache derived values by it. */
  const shown = new WeakMap<ToolServerRecord, ToolServerRecord>();

  function show(record: ToolServerRecord): ToolServerRecord[] {
    if (record.origin !== 'bundled') return [record];
    if (url === undefined) return [];
    const known = shown.get(record) ?? Object.freeze({ ...record, url });
    shown.set(record, known);
    return [known];
  }

  const showAll = keepLast((records: readonly ToolServerRecord[]): readonly ToolServerRecord[] => records.flatMap(show));

  function mark(record: ToolServerRecord): ToolServerRecord {
    const leadsHere = url !== undefined && record.url.replace(/\/+$/, '') === url.replace(/\/+$/, '');
    if (leadsHere) return { ...record, origin: 'bundled' };
    return record.origin === 'bundled' ? { ...record, origin: 'database' } : record;
  }

  return {
    ...store,
    listToolServers: (need) => whenThere(store.listToolServers(need), showAll),
    async findToolServer(id) {
      const record = await store.findToolServer(id);
      return record && show(record)[0];
    },
    async createToolServer(record) {
      const hidden = url === undefined ? (await store.listToolServers()).find(({ id }) => id === record.id) : undefined;
      // A hidden entry must not block its id.
      await (hidden?.origin === 'bundled' ? store.changeToolServer(mark(record)) : store.createToolServer(mark(record)));
    },
    changeToolServer: (record) => store.changeToolServer(mark(record)),
    replaceToolServers: (records) => store.replaceToolServers(records.map(mark)),
  };
}
