import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../..', import.meta.url));

it.skipIf(process.platform === 'win32')('npm start ends with npm: the gateway gets its signal and drains', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'toolwharf-npm-'));
  const env = { ...process.env, PORT: '0', TOOLWHARF_DATA_DIR: folder, OLLAMA_BASE_URLS: ';', LOG_FORMAT: 'json' };
  const npm = spawn('npm', ['start'], { cwd: root, env, stdio: ['ignore', 'pipe', 'ignore'] });
  let text = '';
  const ended = once(npm.stdout, 'end');
  const listening = new Promise<void>((resolve) => {
    npm.stdout.on('data', (piece: Buffer) => {
      text += piece.toString();
      if (text.includes('listens on')) resolve();
    });
  });
  try {
    await Promise.race([listening, ended]);
    npm.kill('SIGTERM');
    // The pipe ends when nobody holds it any more: neither npm nor the gateway.
    await ended;
    expect(text).toContain('shutting down');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
