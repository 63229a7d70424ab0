import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, delimiter, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConsole } from '../../_support/load-console.ts';
import { allowedPaths, copiesOf, environmentOf, readStages, valuesOf } from '../../_support/read-dockerfile.ts';
import type { Stage } from '../../_support/read-dockerfile.ts';

const projectRoot = fileURLToPath(new URL('../../..', import.meta.url));
const stages = readStages(readFileSync(`${projectRoot}Dockerfile`, 'utf8'));
const last = stages.at(-1) as Stage;
const isRoot = process.getuid?.() === 0;
/** Of the image. Root may write anywhere, so the checks would prove nothing. */
const user = isRoot ? { uid: 1000, gid: 1000 } : {};
/** Longer than a busy machine takes for a step. */
const stepLimitMs = 120_000;

let root: string;

/** Every stage is a folder; what lies below it is that stage's `/`. */
const folderOf = (stage: string | undefined): string => join(root, stage ?? 'final');

/**
 * The instructions of the Dockerfile one after the other, with this Node in place of the image's, and the packages of this checkout in place of those
 * that `npm ci` would bring: they come from the same lock file, and no script is run to install them.
 */
async function buildStage(stage: Stage): Promise<void> {
  let folder = folderOf(stage.name);
  let runner = {};
  for (const { name, value } of stage.instructions) {
    if (name === 'WORKDIR') folder = join(folderOf(stage.name), value);
    if (name === 'USER') runner = user;
    mkdirSync(folder, { recursive: true });
    if (name === 'COPY') copy(value, folder);
    if (name === 'RUN' && value.startsWith('npm ci ')) symlinkSync(join(projectRoot, 'node_modules'), join(folder, 'node_modules'));
    else if (name === 'RUN') await run(asHere(value, stage), { folder, env: hereEnvironment(stage), ...runner });
  }
}

/** Paths of the image are those below the stage's folder; who is not root has no other user to give files to. */
function asHere(command: string, stage: Stage): string {
  const here = command.replaceAll(/(?<= )\/(?=\w)/g, `${folderOf(stage.name)}/`);
  return isRoot ? here : here.replaceAll(/ && chown [^&]*/g, '');
}

function hereEnvironment(stage: Stage): Record<string, string> {
  const entries = Object.entries(environmentOf(stage));
  return Object.fromEntries(entries.map(([name, value]) => [name, value.startsWith('/') ? join(folderOf(stage.name), value) : value]));
}

function copy(value: string, folder: string): void {
  const { from, sources, target } = copiesOf(value);
  for (const source of sources) {
    const path = join(from === undefined ? join(root, 'context') : folderOf(from), source);
    const isWhole = sources.length === 1 && statSync(path).isDirectory();
    cpSync(path, isWhole ? join(folder, target) : join(folder, target, basename(source)), { recursive: true, verbatimSymlinks: true });
  }
}

interface Step {
  folder: string;
  env: Record<string, string>;
  uid?: number;
  gid?: number;
}

async function run(command: string, { folder, env, ...runner }: Step): Promise<void> {
  const path = [join(root, 'bin'), process.env['PATH']].join(delimiter);
  const options = {
    cwd: folder,
    timeout: stepLimitMs,
    env: { ...process.env, TMPDIR: join(root, 'tmp'), ...env, PATH: path },
    ...runner,
  };
  await promisify(execFile)('sh', ['-c', command], options);
}

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'toolwharf-image-'));
  chmodSync(root, 0o755);
  for (const name of ['bin', 'tmp']) mkdirSync(join(root, name));
  chmodSync(join(root, 'tmp'), 0o777);
  // Where the user of the image can run it, too.
  cpSync(process.execPath, join(root, 'bin/node'));
  for (const path of allowedPaths(readFileSync(`${projectRoot}.dockerignore`, 'utf8')))
    cpSync(join(projectRoot, path), join(root, 'context', path), { recursive: true });
  for (const stage of stages) await buildStage(stage);
}, 2 * stepLimitMs);

afterAll(async () => {
  const app = join(folderOf(undefined), 'app');
  if (existsSync(app)) chmodTree(app, 0o755);
  await rm(root, { recursive: true, force: true });
});

function chmodTree(folder: string, mode: number): void {
  chmodSync(folder, mode);
  for (const entry of readdirSync(folder, { withFileTypes: true })) if (entry.isDirectory()) chmodTree(join(folder, entry.name), mode);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

interface Container {
  url: string;
  data: string;
  process: ChildProcess;
  output(): string;
  run(command: string): Promise<{ code: number; output: string }>;
}

/** The last stage as it would run: its environment and entry point, its user, a program folder that cannot be written, and nowhere else to write. */
async function startContainer(environment: Record<string, string>): Promise<Container> {
  const app = join(folderOf(undefined), 'app');
  const data = join(root, 'data');
  const nothing = join(root, 'nothing');
  for (const folder of [data, nothing]) mkdirSync(folder, { recursive: true });
  if (isRoot) chownSync(data, 1000, 1000);
  const node = join(root, 'bin/node');
  chmodTree(app, 0o555);
  chmodSync(nothing, 0o555);
  const port = await freePort();
  const imageEnvironment = {
    ...hereEnvironment(last),
    HOST: '127.0.0.1',
    PORT: String(port),
    TOOLWHARF_DATA_DIR: data,
    TMPDIR: nothing,
    HOME: nothing,
  };
  const [, ...given] = JSON.parse(valuesOf(last, 'ENTRYPOINT')[0] ?? '[]') as string[];
  const flags = given.filter((word) => word.startsWith('--'));
  const program = given.at(-1) ?? '';
  const start = (command: string): ChildProcess =>
    spawn(node, [...flags, join(folderOf(undefined), program), command], {
      cwd: app,
      env: { ...imageEnvironment, ...environment },
      ...user,
    });
  const child = start((JSON.parse(valuesOf(last, 'CMD')[0] ?? '[]') as string[])[0] ?? '');
  const output = collect(child);
  return {
    url: `http://127.0.0.1:${port}`,
    data,
    process: child,
    output,
    async run(command) {
      const other = start(command);
      const told = collect(other);
      const [code] = (await once(other, 'close')) as [number];
      return { code, output: told() };
    },
  };
}

function collect(child: ChildProcess): () => string {
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', (piece: string) => (text += piece));
  return () => text;
}

async function untilHealthy(container: Container): Promise<Response> {
  for (;;) {
    if (container.process.exitCode !== null) throw new Error(`The gateway ended: ${container.output()}`);
    const response = await fetch(`${container.url}/health`).catch(() => undefined);
    if (response !== undefined) return response;
    await wait(50);
  }
}

describe('the steps of the image', () => {
  it('give a gateway that runs without rights, answers a chat, is healthy and ends with 0 on SIGTERM', { timeout: 60_000 }, async () => {
    const container = await startContainer({
      TOOLWHARF_DEMO: 'true',
      TOOLWHARF_ADMIN_KEY: 'image-key',
      OLLAMA_BASE_URLS: 'http://127.0.0.1:9',
    });
    try {
      const health = await untilHealthy(container);
      expect([health.status, await health.json()]).toEqual([200, { status: true }]);

      const chat = await fetch(`${container.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: 'Bearer image-key' },
        body: JSON.stringify({ model: 'demo', messages: [{ role: 'user', content: 'what time is it in Osaka?' }] }),
      });
      expect(chat.status).toBe(200);
      const answer = (await chat.json()) as { choices: { message: { content: string } }[]; sources: unknown[] };
      expect(answer.choices[0]?.message.content).toMatch(/\d{2}:\d{2}/);
      expect(answer.sources).toHaveLength(1);

      const { page, files } = await loadConsole(container.url);
      expect([page.status, files.size > 10, [...files].filter(([, type]) => !type.includes('/'))]).toEqual([200, true, []]);

      expect(await container.run('healthcheck')).toEqual({ code: 0, output: '' });
      const examined = await container.run('doctor');
      expect(examined.output).toContain(`A toolwharf runs at ${new URL(container.url).host}`);
      expect(examined.output).toContain(`${container.data} can be written`);
    } finally {
      container.process.kill('SIGTERM');
    }
    const [code, signal] = (await once(container.process, 'exit')) as [number | null, string | null];
    expect([code, signal, container.output()]).toEqual([0, null, expect.not.stringMatching(/EROFS|EACCES|EPERM/)]);
    expect((await container.run('healthcheck')).code).toBe(1);
  });

  it('need no script of a package to install it', () => {
    const { packages } = JSON.parse(readFileSync(`${projectRoot}package-lock.json`, 'utf8')) as { packages: Record<string, object> };
    expect(Object.keys(packages).length).toBeGreaterThan(100);
    expect(Object.entries(packages).flatMap(([path, described]) => ('hasInstallScript' in described ? [path] : []))).toEqual([]);
  });

  it('leave nothing in the image but what runs', () => {
    const app = join(folderOf(undefined), 'app');
    const written = readdirSync(app, { recursive: true, encoding: 'utf8' });
    expect(written.filter((path) => path.includes('node_modules') || /(?<!\.d)\.ts$|\.node$/.test(path))).toEqual([]);
    expect(written).toEqual(expect.arrayContaining(['LICENSE', 'THIRD-PARTY-LICENSES.txt']));
    // What the start needs is compiled already, and nobody can write there.
    const compiled = written.filter((path) => path.startsWith('compile-cache/'));
    expect(compiled.length).toBeGreaterThan(20);
    expect(compiled.map((path) => statSync(join(app, path)).mode & 0o222)).toEqual(compiled.map(() => 0));
  });

  it('show a wrong setting as one line and end with 1', async () => {
    const container = await startContainer({ FUNCTION_CALLING: 'perhaps' });
    const [code] = (await once(container.process, 'close')) as [number];
    expect([code, container.output().trim().split('\n')]).toEqual([1, [expect.stringMatching(/^toolwharf: FUNCTION_CALLING: /)]]);
  });
});
