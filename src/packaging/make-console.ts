import { createHash } from 'node:crypto';
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants as zlib, gzip } from 'node:zlib';
import { rolldown } from 'rolldown';
import { writtenUrls } from './written-urls.ts';

const sources = fileURLToPath(new URL('..', import.meta.url));
const consoleSources = join(sources, 'console');

/** What the page may do is a matter of its file: see `src/http/pages/console-headers.ts`. */
const mediaTypes: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

const largeBytes = 300_000;

interface MadeFile {
  name: string;
  content: Buffer;
}

/**
 * Writes the console into a folder: `shell.html`, its files with their digests in their names, each with its compressed forms (`.br`, `.gz`), and
 * `console-files.json`, which lists them all with their types. Pages are files of their own, loaded when they are opened.
 * @returns the files that it is made of
 * @throws Error when a module is missing or broken
 */
export async function makeConsole(folder: string): Promise<string[]> {
  const { scripts, entry, preloaded, modules } = await bundleScripts();
  const style = named('console', 'css', joinStyles());
  const icon = named('icon', 'svg', readFileSync(join(consoleSources, 'icon.svg')));
  const shell = fillShell({ entry, preloaded, style: style.name, icon: icon.name });
  const files = [...scripts, style, icon];
  mkdirSync(folder, { recursive: true });
  await Promise.all([...files, { name: 'shell.html', content: Buffer.from(shell) }].map((file) => writeCompressed(folder, file)));
  const list = {
    shell: digestOf(Buffer.from(shell)),
    entry: [entry, ...preloaded, style.name, icon.name],
    types: Object.fromEntries(files.map(({ name }) => [name, mediaTypes[name.slice(name.lastIndexOf('.') + 1)]])),
  };
  writeFileSync(join(folder, 'console-files.json'), `${JSON.stringify(list)}\n`);
  return modules;
}

async function bundleScripts(): Promise<{ scripts: MadeFile[]; entry: string; preloaded: string[]; modules: string[] }> {
  const build = await rolldown({
    cwd: sources,
    platform: 'browser',
    tsconfig: false,
    transform: { typescript: { onlyRemoveTypeImports: true }, jsx: { runtime: 'automatic', importSource: 'preact' }, target: 'es2023' },
    input: { console: join(consoleSources, 'main.tsx') },
    plugins: [writtenUrls(sources, (path) => basename(path))],
    logLevel: 'warn',
  });
  const { output } = await build.generate({
    format: 'esm',
    entryFileNames: '[name]-[hash].js',
    chunkFileNames: '[name]-[hash].js',
    minify: true,
    comments: false,
  });
  await build.close();
  const chunks = output.filter((file) => file.type === 'chunk');
  const main = chunks.find((chunk) => chunk.isEntry && chunk.name === 'console');
  if (main === undefined) throw new Error('The bundler has made no entry of src/console/main.tsx.');
  return {
    scripts: chunks.map(({ fileName, code }) => ({ name: fileName, content: Buffer.from(code) })),
    entry: main.fileName,
    preloaded: [...main.imports],
    modules: chunks.flatMap(({ moduleIds }) => moduleIds).filter((id) => !id.startsWith('\0')),
  };
}

/** The common styles first, in the order of their names, then those beside parts and pages. */
function joinStyles(): Buffer {
  const paths = globSync('**/*.css', { cwd: consoleSources }).toSorted();
  const isCommon = (path: string): boolean => path.startsWith('styles');
  const ordered = [...paths.filter(isCommon), ...paths.filter((path) => !isCommon(path))];
  const text = ordered.map((path) => readFileSync(join(consoleSources, path), 'utf8')).join('\n');
  return Buffer.from(
    text
      .replaceAll(/\/\*[\s\S]*?\*\//g, '')
      .replaceAll(/\n\s*/g, '\n')
      .trim(),
  );
}

function fillShell({
  entry,
  preloaded,
  style,
  icon,
}: {
  entry: string;
  preloaded: readonly string[];
  style: string;
  icon: string;
}): string {
  const at = (name: string): string => `console/assets/${name}`;
  return readFileSync(join(consoleSources, 'shell.html'), 'utf8')
    .replace('<!-- preloaded -->', preloaded.map((name) => `<link rel="modulepreload" href="${at(name)}" />`).join(''))
    .replace('style.css', at(style))
    .replace('icon.svg', at(icon))
    .replace('main.tsx', at(entry));
}

function named(name: string, extension: string, content: Buffer): MadeFile {
  return { name: `${name}-${digestOf(content).slice(0, 8)}.${extension}`, content };
}

function digestOf(content: Buffer): string {
  return createHash('sha256').update(content).digest('base64url').slice(0, 22);
}

async function writeCompressed(folder: string, { name, content }: MadeFile): Promise<void> {
  // The best quality takes seconds for the largest libraries, which few people load.
  const quality = content.length > largeBytes ? 7 : zlib.BROTLI_MAX_QUALITY;
  const params = { [zlib.BROTLI_PARAM_QUALITY]: quality };
  const [brotli, zipped] = await Promise.all([promisify(brotliCompress)(content, { params }), promisify(gzip)(content, { level: 9 })]);
  writeFileSync(join(folder, name), content);
  writeFileSync(join(folder, `${name}.br`), brotli);
  writeFileSync(join(folder, `${name}.gz`), zipped);
}
