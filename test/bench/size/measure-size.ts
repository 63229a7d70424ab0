import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ChildProcess } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { announcedPort } from '../child-process.ts';
import { ask, countBytes, endChild, freePort, key, startChild, untilHealthy, youngMegabytes } from '../counts/count-chats.ts';
import { stopsVariable } from '../counts/count-inside.ts';
import { checkAnswer, createClient } from '../load-generator.ts';
import { fillDatabase } from './fill-database.ts';
import type { Filling } from './fill-database.ts';
import { largeServer, smallServers } from './tool-documents.ts';

interface Installation extends Filling {
  servers: number;
  /** Of the large document. */
  operations: number;
}

/** Both have more functions than one offer holds, so that they are chosen by the question in both. */
const installations: Record<'small' | 'large', Installation> = {
  small: { servers: 30, operations: 150, keys: 10, peopleToday: 10, chats: 10, presets: 1 },
  large: { servers: 999, operations: 10_000, keys: 10_000, peopleToday: 100_000, chats: 10_000, presets: 500 },
};

/** A chat of the large installation costs at most so many times what one of the small installation does. */
const chats = {
  plain: { body: { tool_ids: [] }, most: 1.05 },
  'one server': { body: { tool_ids: ['server:small0'] }, most: 1.2 },
  'one function': { body: { tool_ids: ['server:small0/list_order_small0_0'] }, most: 1.2 },
  'default tools': { body: {}, most: 1.2 },
  'large document': { body: { tool_ids: ['server:large'] }, most: 1.2 },
} as const;
type ChatName = keyof typeof chats;

interface Cost {
  bytes: number;
  calls: number;
  /** Per chat, by function. */
  byFunction: Record<string, number>;
}

interface Step {
  /** The longest stop of the event loop, in computing time. */
  stopMs: number;
  statements: number;
  rows: number;
}

interface Measured {
  chats: Map<ChatName, Cost>;
  steps: Map<string, Step>;
}

export interface SizeResults {
  small: Measured;
  large: Measured;
}

export interface SizeGoal {
  what: string;
  said: string;
  isMet: boolean;
}

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const secret = 'the-secret-of-the-benchmark';
const connections = 8;
const warmChats = 800;
const measuredChats = 160;
/** As `npm start` has them. */
const usualFlags = ['--max-semi-space-size=16', '--no-flush-bytecode'];
/** Nothing is collected while bytes are counted. */
const uncollectedFlags = [`--min-semi-space-size=${youngMegabytes}`, `--max-semi-space-size=${youngMegabytes}`];

export async function measureSize(checkout: string, note: (text: string) => void): Promise<SizeResults> {
  const folder = mkdtempSync(join(tmpdir(), 'toolwharf-size-'));
  const backend = startChild(here('../mock-backend.ts'), { folder, output: 'backend.log' });
  try {
    const backendUrl = `http://127.0.0.1:${await announcedPort(join(folder, 'backend.log'))}`;
    const measure = async (name: keyof typeof installations): Promise<Measured> => {
      note(`  the ${name} installation`);
      const own = join(folder, name);
      mkdirSync(own);
      return measureInstallation(installations[name], { checkout, folder: own, backendUrl, note });
    };
    return { small: await measure('small'), large: await measure('large') };
  } finally {
    await endChild(backend);
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Place {
  checkout: string;
  folder: string;
  backendUrl: string;
  note: (text: string) => void;
}

async function measureInstallation(installation: Installation, { checkout, folder, backendUrl, note }: Place): Promise<Measured> {
  const file = join(folder, 'toolwharf.db');
  await fillDatabase(file, secret, installation);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const start = (environment: NodeJS.ProcessEnv, flags: readonly string[]): ChildProcess =>
    startChild(join(checkout, 'src/toolwharf.js'), {
      folder,
      output: 'gateway.log',
      args: ['serve'],
      flags: [...flags, '--import', here('../counts/count-inside.ts')],
      environment: {
        HOST: '127.0.0.1',
        PORT: String(port),
        DATABASE_URL: `sqlite:${file}`,
        TOOLWHARF_SECRET: secret,
        TOOLWHARF_ADMIN_KEY: key,
        TOOLWHARF_DEMO: 'false',
        TOOLWHARF_DATA_DIR: join(folder, 'data'),
        STORE_CHATS: 'true',
        LOG_FORMAT: 'json',
        OLLAMA_BASE_URLS: ';',
        OPENAI_API_BASE_URLS: `${backendUrl}/v1`,
        ...environment,
      },
    });
  const use = async <Value>(kind: 'stops' | 'bytes', work: (gateway: ChildProcess) => Promise<Value>): Promise<Value> => {
    const gateway = kind === 'stops' ? start({ [stopsVariable]: 'yes' }, usualFlags) : start({}, uncollectedFlags);
    try {
      await untilHealthy(url, gateway, join(folder, 'gateway.log'));
      return await work(gateway);
    } finally {
      await endChild(gateway);
    }
  };
  const steps = await use('stops', (gateway) => measureSteps(gateway, url, installation));
  note('    a start with its servers');
  await use('stops', async (gateway) => {
    await untilOpen(url, installation);
    steps.set('start with servers', await takeStep(gateway));
  });
  const costs = await use('bytes', async (gateway) => {
    await untilOpen(url, installation);
    return measureChats(gateway, url, note);
  });
  return { chats: costs, steps };
}

/** What administrators do, one after the other. */
async function measureSteps(gateway: ChildProcess, url: string, { servers, operations }: Installation): Promise<Map<string, Step>> {
  const steps = new Map<string, Step>();
  await pause(1_000);
  steps.set('start', await takeStep(gateway));
  await ask(gateway, 'count-sql');
  const step = async (name: string, method: string, path: string, body?: object): Promise<string> => {
    await ask(gateway, 'report');
    const text = await send(url, method, path, body);
    steps.set(name, await takeStep(gateway));
    return text;
  };
  await step('PUT all servers', 'PUT', '/api/tool-servers', smallServers(servers));
  await step('register the document', 'POST', '/api/tool-servers', largeServer(operations));
  const created = JSON.parse(await step('create a key', 'POST', '/api/keys', { name: 'new', role: 'user' })) as { id: string };
  // The change is read with the next request.
  await step('read after it', 'GET', '/api/keys?limit=1');
  await step('change the key', 'PATCH', `/api/keys/${created.id}`, { name: 'changed' });
  await step('read after that', 'GET', '/api/keys?limit=1');
  await step('GET /api/tool-servers', 'GET', '/api/tool-servers');
  await step('GET /api/tools', 'GET', '/api/tools');
  await step('GET /api/doctor', 'GET', '/api/doctor');
  return steps;
}

async function takeStep(gateway: ChildProcess): Promise<Step> {
  const { longestStopMs: stopMs, statements, rows } = await ask(gateway, 'report');
  return { stopMs, statements, rows };
}

async function measureChats(gateway: ChildProcess, url: string, note: (text: string) => void): Promise<Map<ChatName, Cost>> {
  const client = createClient({ name: 'gateway', url, pid: gateway.pid, headers: { authorization: `Bearer ${key}` } }, connections);
  const questions = ['list the order', 'find a parcel', 'count each window', 'sort the tickets', 'join lamps at the river'];
  const askMany = async (name: ChatName, count: number): Promise<void> => {
    const askOn = async (): Promise<void> => {
      for (let left = count / connections; left > 0; left -= 1) {
        const plan = { chunks: 50, gapMs: 0, name: questions[left % questions.length] ?? '' };
        checkAnswer(await client.ask(plan, false, chats[name].body), plan, false);
      }
    };
    await Promise.all(Array.from({ length: connections }, askOn));
  };
  const costs = new Map<ChatName, Cost>();
  const names = Object.keys(chats) as ChatName[];
  for (const name of names) {
    note(`    chats: ${name}`);
    await askMany(name, warmChats);
    costs.set(name, { bytes: (await countBytes(gateway, () => askMany(name, measuredChats))) / measuredChats, calls: 0, byFunction: {} });
  }
  await ask(gateway, 'count-calls');
  for (const name of names) {
    await askMany(name, measuredChats);
    await ask(gateway, 'report');
    await askMany(name, measuredChats);
    const { calls } = await ask(gateway, 'report');
    const cost = costs.get(name);
    if (cost === undefined) continue;
    cost.byFunction = Object.fromEntries(Object.entries(calls).map(([called, count]) => [called, count / measuredChats]));
    cost.calls = Object.values(cost.byFunction).reduce((sum, count) => sum + count, 0);
  }
  await client.close();
  return costs;
}

async function send(url: string, method: string, path: string, body?: object): Promise<string> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const response = await fetch(url + path, {
    method,
    headers: body === undefined ? { authorization: headers.authorization } : headers,
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: status ${response.status}: ${text.slice(0, 500)}`);
  return text;
}

/** Until each server has been opened. */
async function untilOpen(url: string, { servers }: Installation): Promise<void> {
  for (;;) {
    const { tool_servers: states = [] } = JSON.parse(await send(url, 'GET', '/ready')) as { tool_servers?: { state: string }[] };
    if (states.filter(({ state }) => state === 'ok').length === servers + 1) return;
    await pause(200);
  }
}

export function sizeGoals({ small, large }: SizeResults): SizeGoal[] {
  const ratios = Object.entries(chats).map(([name, { most }]): SizeGoal => {
    const [before, after] = [small, large].map((one) => one.chats.get(name as ChatName) ?? { bytes: 0, calls: 0, byFunction: {} });
    const bytes = (after?.bytes ?? 0) / (before?.bytes ?? 1);
    const calls = (after?.calls ?? 0) / (before?.calls ?? 1);
    const isMet = bytes <= most && calls <= most;
    const growing = Object.entries(after?.byFunction ?? {})
      .map(([called, count]) => ({ called, more: count - (before?.byFunction[called] ?? 0) }))
      .toSorted((one, other) => other.more - one.more)
      .slice(0, 8);
    const why = isMet ? '' : `: ${growing.map(({ called, more }) => `${more.toFixed(0)} more calls of ${called}`).join(', ')}`;
    return { what: `chat, ${name}`, said: `${bytes.toFixed(2)} x bytes, ${calls.toFixed(2)} x calls, of ${most}${why}`, isMet };
  });
  const readAfter = ['read after it', 'read after that'].map((name): SizeGoal => {
    const rows = large.steps.get(name)?.rows ?? Infinity;
    const key = name === 'read after it' ? 'created' : 'changed';
    // The version of the data is read too.
    return { what: `a key that is ${key}`, said: `${rows} rows are read`, isMet: rows <= 2 };
  });
  return [...ratios, ...readAfter];
}
