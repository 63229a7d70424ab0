import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { temporaryFolders } from '../storage/temporary-folder.ts';

const program = fileURLToPath(new URL('../../src/toolwharf.js', import.meta.url));

function run(...args: string[]): { code: number | null; text: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], { encoding: 'utf8' });
  return { code: status, text: stdout + stderr };
}

it('help names each command and what it does', () => {
  const { code, text } = run('--help');
  expect(code).toBe(0);
  for (const command of ['serve', 'demo', 'convert', 'doctor', 'healthcheck', 'time-server'])
    expect(text).toMatch(new RegExp(`^  ${command} +\\w.+$`, 'm'));
});

it.each([
  [['srve'], 'toolwharf: there is no command "srve". Commands: serve, '],
  [['serve', '--port', '9000'], 'toolwharf: serve takes no arguments, but got "--port". Settings come from environment variables'],
  [['convert'], 'toolwharf: convert takes one URL or file. Usage: toolwharf convert'],
])('%j ends with an error that says what to do', (args, message) => {
  const { code, text } = run(...args);
  expect([code !== 0, text.split('\n')[0]]).toEqual([true, expect.stringContaining(message)]);
});

const newFolder = temporaryFolders();

// A name that nobody has (RFC 6761), a link-local address without a network card, and one of the block for documentation (RFC 5737).
it.each(['nobody.invalid', 'fe80::1', '192.0.2.1'])('a start at %s ends with one line that names HOST', (host) => {
  const folder = newFolder();
  const env = { ...process.env, HOST: host, PORT: '0', TOOLWHARF_DATA_DIR: folder, TOOLWHARF_ADMIN_KEY: 'sk-tw-long-enough' };
  const { status, stderr } = spawnSync(process.execPath, [program, 'serve'], { encoding: 'utf8', cwd: folder, env });
  expect([status, stderr]).toEqual([1, `toolwharf: ${host} is not an address of this machine; correct HOST, for example to 127.0.0.1.\n`]);
});
