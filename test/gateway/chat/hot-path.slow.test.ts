import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { waitFor } from '../../_support/wait-for.ts';
import { announcedPort, endAllChildren, startNode } from '../../bench/child-process.ts';
import { adminKey, startGateway } from '../../bench/gateway-process.ts';
import type { Gateway } from '../../bench/gateway-process.ts';
import { createClient } from '../../bench/load-generator.ts';
import type { Client } from '../../bench/load-generator.ts';

const pathOf = (file: string): string => fileURLToPath(new URL(file, import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'toolwharf-hot-path-'));
const promisesFile = join(folder, 'promises');
let gateway: Gateway;
let client: Client;

beforeAll(async () => {
  const outputFile = join(folder, 'backend');
  startNode({ file: pathOf('../../bench/mock-backend.ts'), folder, outputFile });
  gateway = await startGateway({
    file: pathOf('../../../src/toolwharf.js'),
    backendUrl: `http://127.0.0.1:${await announcedPort(outputFile)}`,
    folder,
    flags: ['--import', pathOf('../../_support/count-promises.ts')],
    environment: { PROMISES_FILE: promisesFile, TOOLWHARF_DEMO: 'true' },
  });
  client = createClient({ name: 'gateway', url: gateway.url, headers: { authorization: `Bearer ${adminKey}` }, pid: gateway.pid }, 1);
});

afterAll(async () => {
  await client.close();
  await endAllChildren();
  rmSync(folder, { recursive: true, force: true });
});

async function promisesSoFar(): Promise<number> {
  rmSync(promisesFile, { force: true });
  process.kill(gateway.pid, 'SIGWINCH');
  await waitFor(() => expect(existsSync(promisesFile) && readFileSync(promisesFile, 'utf8')).toMatch(/\d\n/));
  return Number(readFileSync(promisesFile, 'utf8'));
}

interface Chat {
  chunks: number;
  gapMs: number;
  stream: boolean;
  body?: object;
}

/** On average, once everything that is cached is there. */
async function promisesPerChat(count: number, { stream, body, ...plan }: Chat): Promise<number> {
  const ask = () => client.ask({ name: 'stream-0001', ...plan }, stream, body);
  for (let warm = 0; warm < 10; warm += 1) await ask();
  const before = await promisesSoFar();
  for (let asked = 0; asked < count; asked += 1) await ask();
  return ((await promisesSoFar()) - before) / count;
}

it('a chat without a stream makes few promises', async () => {
  expect(await promisesPerChat(200, { chunks: 50, gapMs: 0, stream: false })).toBeLessThan(30);
});

it('a chunk of a stream makes none', async () => {
  const short = await promisesPerChat(10, { chunks: 10, gapMs: 2, stream: true });
  const long = await promisesPerChat(10, { chunks: 210, gapMs: 2, stream: true });
  // Caches of the registry are renewed meanwhile, and finished runs are saved.
  expect((long - short) / 200).toBeLessThan(0.3);
});

it('the tools of a default install, offered and not called, make few more', async () => {
  expect(await promisesPerChat(200, { chunks: 50, gapMs: 0, stream: false, body: {} })).toBeLessThan(48);
});
