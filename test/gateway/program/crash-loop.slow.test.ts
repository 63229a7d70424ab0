import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { program } from '../../_support/program.ts';

const filesystem = fileURLToPath(new URL('../../../node_modules/@modelcontextprotocol/server-filesystem/dist/index.js', import.meta.url));

it('a server that ends the gateway at every start is skipped by the fourth, and the others are there', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'crash-loop-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const process_ = (id: string, ...args: string[]) => ({ id, type: 'mcp', command: process.execPath, args });
  // A process of the gateway that ends its parent, which is the gateway.
  const servers = [process_('killer', '-e', `process.kill(process.ppid, 'SIGKILL')`), process_('files', filesystem, folder)];
  // JSON is YAML.
  writeFileSync(join(folder, 'toolwharf.yaml'), JSON.stringify({ tool_servers: servers }));

  const start = () => {
    const env = { PATH: process.env['PATH'], DATA_DIR: join(folder, 'data'), PORT: '0', LOG_FORMAT: 'json', TOOLWHARF_DEMO: 'false' };
    const gateway = spawn(process.execPath, [program, 'serve'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(() => void gateway.kill('SIGKILL'));
    let said = '';
    gateway.stdout.on('data', (chunk) => (said += String(chunk)));
    return { gateway, said: () => said };
  };
  for (const _start of [1, 2, 3]) expect(await once(start().gateway, 'exit')).toEqual([null, 'SIGKILL']);

  const { said } = start();
  await expect.poll(said).toMatch(/listens on (http\S+)/);
  const [, address = ''] = /listens on (http[^\s"]+)/.exec(said()) ?? [];
  const states = async (): Promise<unknown> => ((await (await fetch(`${address}/ready`)).json()) as { tool_servers: unknown }).tool_servers;
  await expect
    .poll(states)
    .toMatchObject(
      expect.arrayContaining([
        { id: 'killer', state: 'unreachable', functions: 0, skipped: true },
        expect.objectContaining({ id: 'files', state: 'ok' }),
      ]),
    );
});
