import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { GatewayError } from '../core/errors.ts';
import type { ConsoleFolder } from '../http/routes/gateway/console.ts';
import type { AppLog } from './app-context.ts';

/** In a bundle it lies among the files of the console, finished; in the sources it is what the console is made of. */
const shell = new URL('../console/shell.html', import.meta.url);
const list = 'console-files.json';
/** Looking at all sources of the console takes more than a millisecond, and a page asks for twenty files. */
const lookEveryMs = 1_000;

/**
 * Finds the console: in a bundle beside the program, otherwise in the folder that was built from these sources. If that is missing, it is built in
 * a separate process, which takes a second or two; requests wait meanwhile. A change of the sources shows with the first page a second later.
 */
export function createConsoleFolder(log: AppLog): () => Promise<ConsoleFolder> {
  const isBundled = existsSync(new URL(list, shell));
  let last: { href: string; folder: Promise<ConsoleFolder> } | undefined;
  let looked: { at: number; url: Promise<URL> } | undefined;
  const currentFolder = (): Promise<URL> => {
    const now = performance.now();
    if (looked === undefined || now - looked.at >= lookEveryMs) looked = { at: now, url: keptFolder() };
    return looked.url;
  };
  return async () => {
    const url = isBundled ? new URL('./', shell) : await currentFolder();
    if (last?.href !== url.href) {
      const folder = readOrMake(url, log);
      last = { href: url.href, folder };
      folder.catch(() => (last = undefined));
    }
    return last.folder;
  };
}

async function readOrMake(url: URL, log: AppLog): Promise<ConsoleFolder> {
  if (!existsSync(new URL(list, url))) await makeConsole(log);
  const { shell, types } = JSON.parse(await readFile(new URL(list, url), 'utf8')) as Omit<ConsoleFolder, 'url'>;
  return { url, shell, types };
}

/** Named by a variable, because a bundle has no such file. */
const atPackaging = (name: string): string => new URL(`../packaging/${name}`, shell).href;

async function keptFolder(): Promise<URL> {
  const { consoleFolder } = (await import(atPackaging('bundle-folder.js'))) as { consoleFolder: () => string };
  return pathToFileURL(`${consoleFolder()}/`);
}

/** @throws GatewayError */
async function makeConsole(log: AppLog): Promise<void> {
  const program = fileURLToPath(atPackaging('keep-console.js'));
  const child = spawn(process.execPath, [program], { stdio: ['ignore', 'ignore', 'pipe'] });
  const [said, code] = await Promise.all([
    text(child.stderr),
    new Promise<number | null>((resolve) => {
      child.once('error', () => resolve(1));
      child.once('exit', resolve);
    }),
  ]);
  if (code === 0) return;
  log.warn({ error: said.trim().slice(0, 2_000) }, 'the console cannot be made from the sources');
  throw new GatewayError(
    'not_found',
    'The console is made from the sources with packages for development, and that failed; the log says why. Run "npm ci" without "--omit=dev", or use ' +
      'the image or the published package, which have it ready. Everything else works without it: /docs describes the API.',
  );
}
