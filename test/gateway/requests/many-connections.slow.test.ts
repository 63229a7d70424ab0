import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { program } from '../../_support/program.ts';

/** More than Node would have the system hold without being told, if the system holds as many. */
const wantedClients = 700;

it.skipIf(process.platform !== 'linux')('as many clients as the system holds may connect while the gateway is busy', async () => {
  const clients = Math.min(wantedClients, Number(readFileSync('/proc/sys/net/core/somaxconn', 'utf8')));
  const folder = mkdtempSync(join(tmpdir(), 'toolwharf-backlog-'));
  const env = { PATH: process.env['PATH'], PORT: '0', TOOLWHARF_DATA_DIR: folder, TOOLWHARF_DEMO: 'false', OLLAMA_BASE_URLS: ';' };
  const gateway = execFile(process.execPath, [program], { cwd: folder, env });
  const sockets: Socket[] = [];
  try {
    const port = await new Promise<number>((resolve) => {
      let text = '';
      gateway.stdout?.on('data', (piece: string) => {
        text += piece;
        const [, found] = /listens on http:\/\/127\.0\.0\.1:(\d+)/.exec(text) ?? [];
        if (found !== undefined) resolve(Number(found));
      });
    });
    // It accepts nothing until it goes on.
    gateway.kill('SIGSTOP');
    for (let index = 0; index < clients; index += 1) sockets.push(connect(port, '127.0.0.1'));
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    expect(sockets.filter(({ readyState }) => readyState === 'open')).toHaveLength(clients);
  } finally {
    for (const socket of sockets) socket.destroy();
    gateway.kill('SIGKILL');
    await once(gateway, 'exit');
    rmSync(folder, { recursive: true, force: true });
  }
});
