import { once } from 'node:events';
import { mkdtempSync, readFileSync } from 'node:fs';
import { createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { startNode } from './child-process.ts';
import type { Child } from './child-process.ts';

export const adminKey = 'sk-tw-benchmark-key-of-this-run';

export interface GatewayStart {
  /** `toolwharf.js`, of the sources or of `dist`. */
  file: string;
  backendUrl: string;
  /** Where its data, log and compile cache go. */
  folder: string;
  /** Holds the compile cache of Node. Default: one that all starts of this run share. */
  temporaryFolder?: string;
  /** More flags of Node. */
  flags?: readonly string[];
  environment?: NodeJS.ProcessEnv;
}

export interface Gateway extends Child {
  url: string;
  /** From the spawn to the first `/health` that answers 200. */
  startedMs: number;
}

const giveUpMs = 60_000;

const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { scripts: { start: string } };
/** What `npm start` and the image give to Node. */
const startFlags = manifest.scripts.start.split(' ').filter((word) => word.startsWith('--'));

/** Starts the gateway as an operator would, with a key, its log in a file, and nothing else of this machine: no Ollama, no configuration file. */
export async function startGateway({
  file,
  backendUrl,
  folder,
  temporaryFolder = folder,
  flags = [],
  environment = {},
}: GatewayStart): Promise<Gateway> {
  const own = mkdtempSync(join(folder, 'gateway-'));
  const outputFile = join(own, 'log.jsonl');
  const port = await freePort();
  const began = performance.now();
  const child = startNode({
    file,
    flags: [...startFlags, ...flags],
    args: ['serve'],
    folder: own,
    outputFile,
    environment: {
      HOST: '127.0.0.1',
      PORT: String(port),
      TOOLWHARF_ADMIN_KEY: adminKey,
      TOOLWHARF_DEMO: 'false',
      TOOLWHARF_DATA_DIR: join(own, 'data'),
      LOG_LEVEL: 'info',
      LOG_FORMAT: 'json',
      OLLAMA_BASE_URLS: ';',
      OPENAI_API_BASE_URLS: `${backendUrl}/v1`,
      TMPDIR: temporaryFolder,
      ...environment,
    },
  });
  const url = `http://127.0.0.1:${port}`;
  while (!(await isHealthy(url))) {
    if (performance.now() - began > giveUpMs) {
      await child.end();
      throw new Error(`${file} did not start: ${readFileSync(outputFile, 'utf8').slice(-2_000)}`);
    }
    await pause(5);
  }
  return { ...child, url, startedMs: performance.now() - began };
}

/** `/health` by a connection of its own; anything but 200 is not yet. */
async function isHealthy(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    get(`${url}/health`, { agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    }).once('error', () => resolve(false));
  });
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
