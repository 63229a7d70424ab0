import { execFile } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { program } from '../../_support/program.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'toolwharf-one-process-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const data = (): string => join(folder, 'data');
const options = () => ({
  cwd: folder,
  env: { PATH: process.env['PATH'], PORT: '0', TOOLWHARF_DATA_DIR: data(), TOOLWHARF_DEMO: 'false', OLLAMA_BASE_URLS: ';' },
});

/** Resolves when it listens. */
async function startGateway(): Promise<ChildProcess> {
  const child = execFile(process.execPath, [program], options());
  let text = '';
  await new Promise<void>((resolve, reject) => {
    child.stdout?.on('data', (piece: string) => {
      text += piece;
      if (text.includes('listens on')) resolve();
    });
    child.stderr?.on('data', (piece: string) => (text += piece));
    child.once('exit', () => reject(new Error(text)));
  });
  return child;
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  child.kill(signal);
  await once(child, 'exit');
}

it('a data folder is served by one process at a time, also right after that one was killed', async () => {
  const first = await startGateway();
  try {
    expect((statSync(data()).mode & 0o777).toString(8)).toBe('700');
    const second = await promisify(execFile)(process.execPath, [program], options()).catch((error: unknown) => error);
    expect(second).toMatchObject({
      code: 1,
      stderr: `toolwharf: Another toolwharf serves from the data folder ${data()}. End that one, or set TOOLWHARF_DATA_DIR to another folder.\n`,
    });
    const env = { ...options().env, TOOLWHARF_DATA_DIR: join(folder, 'other'), DATABASE_URL: `sqlite:${join(data(), 'toolwharf.db')}` };
    const third = await promisify(execFile)(process.execPath, [program], { ...options(), env, timeout: 20_000 }).catch(
      (error: unknown) => error,
    );
    expect(third).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('toolwharf: Another toolwharf serves from the database') as string,
    });
    const { stdout } = await promisify(execFile)(process.execPath, [program, 'doctor'], options()).catch(
      (error: unknown) => error as { stdout: string },
    );
    expect(stdout).toContain('can be written');
    expect(stdout).not.toContain('Another toolwharf');
  } finally {
    await end(first, 'SIGKILL');
  }
  await end(await startGateway(), 'SIGTERM');
  await end(await startGateway(), 'SIGTERM');
});
