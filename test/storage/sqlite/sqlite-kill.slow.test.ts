import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Registry } from '../../../src/core/stores/registry.ts';
import { memoryRegistry } from '../../_support/memory-stores.ts';
import { openStores } from '../../_support/memory-stores.ts';
import { runOperation } from '../numbered-operations.ts';

const writer = fileURLToPath(new URL('../write-until-killed.ts', import.meta.url));
const secret = 'the secret of the writer';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'toolwharf-kill-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Starts the writer, kills it `delayMs` after its start or its first acknowledgement, and gives the number of the last acknowledged write. */
async function killWriter({ file, first, delayMs, afterFirst }: { file: string; first: number; delayMs: number; afterFirst: boolean }) {
  const child = spawn(process.execPath, [writer, file, String(first)], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  let errors = '';
  const begun = new Promise<void>((resolve) => {
    child.stdout.on('data', (piece: Buffer) => {
      output += piece.toString();
      resolve();
    });
  });
  child.stderr.on('data', (piece: Buffer) => {
    errors += piece.toString();
  });
  const ended = new Promise<NodeJS.Signals | null>((resolve) => child.once('close', (_code, signal) => resolve(signal)));
  if (afterFirst) await Promise.race([begun, ended]);
  await sleep(delayMs);
  child.kill('SIGKILL');
  expect({ signal: await ended, errors: errors.replaceAll(/.*Warning.*\n/g, '') }).toEqual({ signal: 'SIGKILL', errors: '' });
  // A line that was cut off by the kill is no acknowledgement.
  const lines = output.slice(0, output.lastIndexOf('\n') + 1).trim();
  return lines === '' ? first - 1 : Number(lines.split('\n').at(-1));
}

async function contentOf(registry: Registry): Promise<unknown> {
  return { toolServers: await registry.listToolServers(), last: await registry.readFact('last') };
}

describe('a gateway that is killed while it writes', () => {
  it('has every acknowledged change after each of twenty restarts, and at most the one that was being made besides', async () => {
    const file = join(folder, 'toolwharf.db');
    const expected = memoryRegistry();
    let next = 0;
    for (let round = 0; round < 20; round += 1) {
      const last = await killWriter({ file, first: next, delayMs: Math.random() * 80, afterFirst: true });
      expect(last).toBeGreaterThanOrEqual(next);
      for (; next <= last; next += 1) await runOperation(expected, next);
      const acknowledged = await contentOf(expected);
      const registry = openStores({ file, secret }).registry;
      const found = await contentOf(registry);
      await registry.close();
      if (!isDeepStrictEqual(found, acknowledged)) await runOperation(expected, next++);
      expect(found).toEqual(await contentOf(expected));
    }
  });

  it('starts again wherever its first start was cut off', async () => {
    for (let round = 0; round < 20; round += 1) {
      const file = join(folder, `${round}.db`);
      await killWriter({ file, first: 0, delayMs: 30 + Math.random() * 150, afterFirst: false });
      const registry = openStores({ file, secret }).registry;
      await registry.writeFact('works', 'yes');
      expect(await registry.readFact('works')).toBe('yes');
      await registry.close();
    }
    expect(readdirSync(folder).filter((name) => name.endsWith('.db'))).toHaveLength(20);
  });
});
