import { execFile } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { loadConsole } from '../_support/load-console.ts';

const projectRoot = fileURLToPath(new URL('../..', import.meta.url));
let checkout = '';

/** A checkout with packages of its own, as far as a start writes to them. */
beforeEach(() => {
  checkout = mkdtempSync(join(tmpdir(), 'toolwharf-checkout-'));
  for (const name of ['src', 'package.json', 'package-lock.json'])
    cpSync(join(projectRoot, name), join(checkout, name), { recursive: true });
  mkdirSync(join(checkout, 'node_modules'));
  for (const name of readdirSync(join(projectRoot, 'node_modules')).filter((found) => found !== '.cache'))
    symlinkSync(join(projectRoot, 'node_modules', name), join(checkout, 'node_modules', name));
});
afterEach(() => rmSync(checkout, { recursive: true, force: true }));

const bundles = (): string[] => {
  const folder = join(checkout, 'node_modules/.cache/toolwharf');
  return existsSync(folder) ? readdirSync(folder) : [];
};
const isWhole = (name: string): boolean => /^[0-9a-f]{32}$/.test(name);

/** Marks the bundles there are, so that a start on one of them says so at once. */
function mark(): void {
  for (const name of bundles()) {
    const file = join(checkout, 'node_modules/.cache/toolwharf', name, 'toolwharf.js');
    const [first = '', ...others] = readFileSync(file, 'utf8').split('\n');
    writeFileSync(file, [first, `console.log('from a bundle');`, ...others].join('\n'));
  }
}

/** As `npm start` does, until it listens and `until` holds for its address. */
async function start(until: (url: string) => boolean | Promise<boolean> = () => true): Promise<{ isBundle: boolean; errors: string }> {
  const env = { PATH: process.env['PATH'], PORT: '0', TOOLWHARF_DEMO: 'false', OLLAMA_BASE_URLS: ';', LOG_FORMAT: 'json' };
  const child = execFile(process.execPath, [join(checkout, 'src/start.js'), 'serve'], { cwd: checkout, env });
  let output = '';
  let errors = '';
  child.stdout?.on('data', (piece: string) => (output += piece));
  child.stderr?.on('data', (piece: string) => (errors += piece));
  try {
    await expect.poll(() => (child.exitCode === null ? output : errors)).toContain('listens on');
    const url = /listens on ([^\s"]+)/.exec(output)?.[1] ?? '';
    // The bundler runs at low priority.
    await expect.poll(() => until(url), { timeout: 150_000 }).toBe(true);
  } finally {
    const exit = once(child, 'exit');
    child.kill();
    await exit;
    rmSync(join(checkout, 'data'), { recursive: true, force: true });
  }
  return { isBundle: output.includes('from a bundle'), errors };
}

/** What `npm start` would run now. */
async function runsBundle(): Promise<boolean> {
  const { stdout } = await promisify(execFile)(process.execPath, [join(checkout, 'src/start.js'), 'version'], { cwd: checkout });
  return stdout.includes('from a bundle');
}

/** Has a bundle hold one line, where only what is kept and what runs is tested. */
function skipBundling(): void {
  const code =
    "import { writeFileSync } from 'node:fs';\nexport const makeBundle = async (folder) => writeFileSync(`${folder}/toolwharf.js`, `console.log('from a bundle')`);\n";
  writeFileSync(join(checkout, 'src/packaging/make-bundle.ts'), code);
}

const keepBundle = (): Promise<unknown> => promisify(execFile)(process.execPath, [join(checkout, 'src/packaging/keep-bundle.js')]);

it('the first start runs the sources and makes a bundle, which the next one runs; each has a console', async () => {
  const isConsoleThere = async (url: string): Promise<boolean> => {
    const { page, files } = await loadConsole(url);
    return page.status === 200 && files.size > 10 && [...files.values()].every((type) => type.includes('/'));
  };
  const first = await start(async (url) => (await isConsoleThere(url)) && bundles().some(isWhole));
  expect(first).toEqual({ isBundle: false, errors: '' });
  mark();
  expect(await start(isConsoleThere)).toEqual({ isBundle: true, errors: '' });
  expect(readdirSync(join(checkout, 'node_modules/.cache/toolwharf', bundles()[0] ?? ''))).toContain('compile-cache');
}, 180_000);

const changes: [what: string, change: () => void][] = [
  ['a source that was edited, though its size and time are the old ones', () => editUnnoticed(join(checkout, 'src/app/version.ts'))],
  ['a source that was added', () => writeFileSync(join(checkout, 'src/core/more.ts'), '')],
  ['a source that is gone', () => rmSync(join(checkout, 'src/client/README.md'))],
  ['another version of a package', () => appendFileSync(join(checkout, 'package-lock.json'), '\n')],
  ['another version of toolwharf', () => appendFileSync(join(checkout, 'package.json'), '\n')],
];

/** A time that can be set again: the fractions of a millisecond that a file system knows cannot be. */
function age(file: string): void {
  utimesSync(file, 1, 1);
}

function editUnnoticed(file: string): void {
  writeFileSync(file, readFileSync(file, 'utf8').replace("'0.", "'1."));
  age(file);
}

it('no bundle runs that is older than what it is made of', async () => {
  skipBundling();
  age(join(checkout, 'src/app/version.ts'));
  await keepBundle();
  expect(await runsBundle()).toBe(true);
  for (const [what, change] of changes) {
    change();
    expect([what, await runsBundle()]).toEqual([what, false]);
  }
  await keepBundle();
  expect(await runsBundle()).toBe(true);
  expect(bundles().filter((name) => !isWhole(name))).toEqual([]);
});

it('several that make a bundle at once leave one, and old ones go', async () => {
  skipBundling();
  const folder = join(checkout, 'node_modules/.cache/toolwharf');
  for (let day = 1; day <= 6; day += 1) {
    mkdirSync(join(folder, String(day).repeat(32)), { recursive: true });
    utimesSync(join(folder, String(day).repeat(32)), day * 86_400, day * 86_400);
  }
  mkdirSync(join(folder, '0.unfinished'));
  utimesSync(join(folder, '0.unfinished'), 1, 1);
  await Promise.all([keepBundle(), keepBundle(), keepBundle()]);
  const made = bundles().filter((name) => !/^(\d)\1{31}$/.test(name));
  expect(made).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/)]);
  expect(bundles().toSorted()).toEqual([...made, ...['4', '5', '6'].map((day) => day.repeat(32))].toSorted());
});

it('without a bundler, or where nothing can be written, the sources run and nothing is said', async () => {
  rmSync(join(checkout, 'node_modules/rolldown'));
  await keepBundle();
  expect(await start()).toEqual({ isBundle: false, errors: '' });
  expect(bundles()).toEqual([]);

  rmSync(join(checkout, 'node_modules/.cache'), { recursive: true, force: true });
  symlinkSync(join(projectRoot, 'node_modules/rolldown'), join(checkout, 'node_modules/rolldown'));
  writeFileSync(join(checkout, 'node_modules/.cache'), 'no folder');
  await keepBundle();
  expect(await start()).toEqual({ isBundle: false, errors: '' });
});
