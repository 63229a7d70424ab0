// For the image: starts the program once and ends it, so that what V8 has compiled lies in NODE_COMPILE_CACHE before the first start that counts. V8 takes
// it only for the same file, flags and user.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const data = mkdtempSync(join(tmpdir(), 'toolwharf-'));
const environment = { ...process.env, HOST: '127.0.0.1', PORT: '0', TOOLWHARF_DATA_DIR: data };
const child = spawn(process.execPath, [...process.execArgv, process.argv[2], 'serve'], {
  env: environment,
  stdio: ['ignore', 'pipe', 'inherit'],
});
let output = '';
child.stdout.setEncoding('utf8').on('data', (piece) => {
  output += piece;
  if (output.includes('listens on')) child.kill('SIGTERM');
});
const [code] = await once(child, 'exit');
rmSync(data, { recursive: true, force: true });
if (code !== 0) throw new Error(`It did not start: ${output}`);
