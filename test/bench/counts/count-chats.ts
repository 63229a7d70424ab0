import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { AnswerPlan } from '../answer-text.ts';
import { announcedPort } from '../child-process.ts';
import { checkAnswer, createClient } from '../load-generator.ts';
import type { InsideCounts, InsideQuestion } from './count-inside.ts';

/** What one chat costs, whatever else the machine does. */
export interface ChatCounts {
  /** Bytes that are allocated on V8's heap. */
  bytes: number;
  /** Calls of functions of `src`. */
  calls: number;
  /** Of single functions, most first. */
  callsByFunction: [name: string, calls: number][];
}

export interface CountedChat {
  name: string;
  stream: boolean;
  plan: Omit<AnswerPlan, 'name'>;
  /** What the request holds beside model, messages and `stream`. */
  body: object;
}

export const countedChats: readonly CountedChat[] = [
  { name: 'json', stream: false, plan: { chunks: 50, gapMs: 0 }, body: { tool_ids: [] } },
  { name: 'json-tools', stream: false, plan: { chunks: 50, gapMs: 0 }, body: {} },
  { name: 'stream-50', stream: true, plan: { chunks: 50, gapMs: 0 }, body: { tool_ids: [] } },
  { name: 'stream-200', stream: true, plan: { chunks: 200, gapMs: 0 }, body: { tool_ids: [] } },
  { name: 'stream-tools-50', stream: true, plan: { chunks: 50, gapMs: 0 }, body: {} },
  { name: 'stream-tools-200', stream: true, plan: { chunks: 200, gapMs: 0 }, body: {} },
];

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
export const key = 'sk-tw-benchmark-key-of-this-run';
const connections = 8;
/** After as many chats V8 has compiled what it will compile; before that, objects are made that optimised code does not make. */
const warmChats = { whole: 2_000, stream: 400 };
const measuredChats = { whole: 480, stream: 96 };
/** Nothing is collected while chats are counted. */
export const youngMegabytes = 512;

/** Counts in a gateway of its own, started from `folder`, a checkout, with a key, the log, the run log and metrics. `settings`: of the gateway. */
export async function countChats(
  checkout: string,
  chats: readonly CountedChat[] = countedChats,
  settings: NodeJS.ProcessEnv = {},
): Promise<Map<string, ChatCounts>> {
  const folder = mkdtempSync(join(tmpdir(), 'toolwharf-counts-'));
  const children: ChildProcess[] = [];
  try {
    const backend = startChild(here('../mock-backend.ts'), { folder, output: 'backend.log' });
    children.push(backend);
    const backendUrl = `http://127.0.0.1:${await announcedPort(join(folder, 'backend.log'))}`;
    const port = await freePort();
    const gateway = startChild(join(checkout, 'src/toolwharf.js'), {
      folder,
      output: 'gateway.log',
      args: ['serve'],
      flags: [`--min-semi-space-size=${youngMegabytes}`, `--max-semi-space-size=${youngMegabytes}`, '--import', here('./count-inside.ts')],
      environment: {
        HOST: '127.0.0.1',
        PORT: String(port),
        TOOLWHARF_ADMIN_KEY: key,
        TOOLWHARF_DEMO: 'true',
        TOOLWHARF_DATA_DIR: join(folder, 'data'),
        LOG_FORMAT: 'json',
        OLLAMA_BASE_URLS: ';',
        OPENAI_API_BASE_URLS: `${backendUrl}/v1`,
        ...settings,
      },
    });
    children.push(gateway);
    const url = `http://127.0.0.1:${port}`;
    await untilHealthy(url, gateway, join(folder, 'gateway.log'));
    const client = createClient({ name: 'gateway', url, pid: gateway.pid, headers: { authorization: `Bearer ${key}` } }, connections);
    const askMany = async (chat: CountedChat, count: number): Promise<void> => {
      const plan = { ...chat.plan, name: 'plan' };
      const askOn = async (): Promise<void> => {
        for (let left = count / connections; left > 0; left -= 1)
          checkAnswer(await client.ask(plan, chat.stream, chat.body), plan, chat.stream);
      };
      await Promise.all(Array.from({ length: connections }, askOn));
    };
    const counts = new Map<string, ChatCounts>();
    for (const chat of chats) {
      const kind = chat.stream ? 'stream' : 'whole';
      await askMany(chat, warmChats[kind]);
      const bytes = await countBytes(gateway, () => askMany(chat, measuredChats[kind]));
      counts.set(chat.name, { bytes: bytes / measuredChats[kind], calls: 0, callsByFunction: [] });
    }
    // Counting calls slows the code down and changes what it allocates, so that it comes last.
    await ask(gateway, 'count-calls');
    for (const chat of chats) {
      const measured = measuredChats[chat.stream ? 'stream' : 'whole'];
      await askMany(chat, measured);
      await ask(gateway, 'report');
      await askMany(chat, measured);
      const { calls } = await ask(gateway, 'report');
      const byFunction = Object.entries(calls)
        .map(([name, count]): [string, number] => [name, count / measured])
        .toSorted((one, other) => other[1] - one[1]);
      const known = counts.get(chat.name);
      if (known === undefined) continue;
      known.calls = byFunction.reduce((sum, [, count]) => sum + count, 0);
      known.callsByFunction = byFunction;
    }
    await client.close();
    return counts;
  } finally {
    await Promise.all(children.map(endChild));
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Repeated when garbage was collected in between. */
export async function countBytes(gateway: ChildProcess, work: () => Promise<void>): Promise<number> {
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const before = await ask(gateway, 'report');
    await work();
    const after = await ask(gateway, 'report');
    if (after.collections === 0) return after.heapBytes - before.heapBytes;
  }
  throw new Error('garbage was collected in each of five attempts');
}

export async function ask(child: ChildProcess, question: InsideQuestion): Promise<InsideCounts> {
  const answered = once(child, 'message');
  child.send(question);
  return (await answered)[0] as InsideCounts;
}

export interface ChildOptions {
  folder: string;
  output: string;
  args?: string[];
  flags?: string[];
  environment?: NodeJS.ProcessEnv;
}

export function startChild(file: string, { folder, output, args = [], flags = [], environment = {} }: ChildOptions): ChildProcess {
  const log = openSync(join(folder, output), 'a');
  const { PATH, HOME } = process.env;
  return fork(file, args, { cwd: folder, execArgv: flags, env: { PATH, HOME, ...environment }, stdio: ['ignore', log, log, 'ipc'] });
}

export async function endChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
}

export async function untilHealthy(url: string, gateway: ChildProcess, log: string): Promise<void> {
  while (true) {
    if (gateway.exitCode !== null) throw new Error(`the gateway did not start: ${readFileSync(log, 'utf8').slice(-2_000)}`);
    const isHealthy = await fetch(`${url}/health`).then(
      (response) => response.ok,
      () => false,
    );
    if (isHealthy) return;
    await pause(20);
  }
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
