import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { program } from '../../_support/program.ts';
import { toolsFolder } from '../../_support/tools-folder.ts';

it('a gateway whose log nobody reads any more ends when it is asked to', async () => {
  using folder = toolsFolder();
  const env = { PATH: process.env['PATH'], PORT: '0', OLLAMA_BASE_URLS: ';', LOG_FORMAT: 'json' };
  const child = spawn(process.execPath, [program], { cwd: folder.path, env, stdio: ['ignore', 'pipe', 'ignore'] });
  const ended = once(child, 'exit');
  try {
    let text = '';
    for await (const piece of child.stdout) {
      text += String(piece);
      if (text.includes('listens on')) break;
    }
    // Leaving the loop has closed the pipe: the first line that finds it so is that of the end.
    expect(child.stdout.destroyed).toBe(true);
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  } finally {
    child.kill('SIGKILL');
  }
});
