import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { announcedPort, endAllChildren, killAllChildren, startNode } from '../child-process.ts';
import { startGateway } from '../gateway-process.ts';
import { judge } from './judge-samples.ts';
import { takeSample } from './take-sample.ts';
import type { Sample } from './take-sample.ts';
import { Client, pizzaModule, playTraffic } from './traffic.ts';

/** `npm run soak`: whether memory, file descriptors and the database stay as they are under mixed traffic. */
const { values: options } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    /** Operations a second. Some are several requests. */
    rate: { type: 'string', default: '10' },
  },
});
const minutes = Number(options.minutes);
const sampleEveryMs = 30_000;
/** Connections that nobody uses any longer are closed by then: to backends, and kept ones of clients. */
const restMs = 90_000;
const mostAtOnce = 32;
const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const print = (text: string): void => void process.stdout.write(`${text}\n`);

const folder = mkdtempSync(join(tmpdir(), 'toolwharf-soak-'));
process.once('exit', () => {
  killAllChildren();
  rmSync(folder, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

function printSample({ minute, heapMb, residentMb, descriptors, databaseMb, logMb }: Sample): void {
  const cells = [
    minute.toFixed(1),
    heapMb.toFixed(1),
    residentMb.toFixed(0),
    String(descriptors ?? '-'),
    databaseMb.toFixed(1),
    logMb.toFixed(1),
  ];
  print(cells.map((cell) => cell.padStart(9)).join(' '));
}

async function soak(): Promise<void> {
  // What `npm start` makes after its first start, so that this one runs what later ones do.
  execFileSync(process.execPath, [here('../../../src/packaging/keep-bundle.js')]);
  mkdirSync(join(folder, 'tools'));
  writeFileSync(join(folder, 'tools', 'order-pizza.js'), pizzaModule);
  writeFileSync(join(folder, 'toolwharf.yaml'), JSON.stringify({ tools_dir: join(folder, 'tools') }));
  const backendLog = join(folder, 'backend.log');
  startNode({ file: here('../mock-backend.ts'), folder, outputFile: backendLog });
  const gateway = await startGateway({
    file: here('../../../src/start.js'),
    backendUrl: `http://127.0.0.1:${await announcedPort(backendLog)}`,
    folder,
    flags: ['--expose-gc', '--import', new URL('memory-report.ts', import.meta.url).href],
    environment: {
      TOOLWHARF_DEMO: 'true',
      STORE_CHATS: 'true',
      TOOLWHARF_CONFIG: join(folder, 'toolwharf.yaml'),
      TOOLWHARF_DATA_DIR: join(folder, 'data'),
    },
  });
  await pause(5_000);
  const began = performance.now();
  const minute = (): number => (performance.now() - began) / 60_000;
  print(['minute', 'heap MB', 'RSS MB', 'fds', 'db MB', 'WAL MB'].map((cell) => cell.padStart(9)).join(' '));
  const start = await takeSample(gateway, folder, 0);
  printSample(start);

  const client = new Client(gateway.url);
  const ending = new AbortController();
  const playing = playTraffic(client, { perSecond: Number(options.rate), most: mostAtOnce, signal: ending.signal });
  const samples: Sample[] = [];
  while (minute() < minutes) {
    await pause(Math.min(sampleEveryMs, minutes * 60_000 - minute() * 60_000));
    const sample = await takeSample(gateway, folder, minute());
    samples.push(sample);
    printSample(sample);
  }
  ending.abort();
  const { operations, faults } = await playing;
  await client.close();
  await pause(restMs);
  const end = await takeSample(gateway, folder, minute());
  printSample(end);

  print(`${operations} operations`);
  for (const [name, { count, first }] of faults) print(`FAILED ${name}, ${count} times, at first: ${first}`);
  const verdicts = judge({ start, samples, end });
  for (const { what, said, isMet } of verdicts) print(`${isMet ? 'ok    ' : 'MISSED'} ${what}: ${said}`);
  if (faults.size > 0 || verdicts.some(({ isMet }) => !isMet)) process.exitCode = 1;
}

try {
  await soak();
} finally {
  await endAllChildren();
}
