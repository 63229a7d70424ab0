import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { chunksByProgram } from './chunks-by-program.ts';
import { makeConsole } from './make-console.ts';
import { partsOfUndici } from './parts-of-undici.ts';
import { writtenUrls } from './written-urls.ts';

const sources = fileURLToPath(new URL('..', import.meta.url));
/** What `toolwharf.js` imports, and what a package imports as `toolwharf`. Threads and their jobs are found by their URLs. */
const entries = [
  'app/version',
  'cli/convert',
  'cli/demo',
  'cli/doctor',
  'cli/healthcheck',
  'cli/serve',
  'cli/time-server',
  'observability/source-positions',
  'package-entry',
];
/** Read by any Node, before the bundle is. */
const plainFiles = ['toolwharf.js', 'use-newer-node.js', 'needed-node.js'];

/** What zod exports for modules of operators, and the gateway does not use: above all its messages in fifty languages. */
const zodExports =
  /node_modules\/zod\/(?:index|v4\/index|v4\/(?:classic|mini)\/(?:index|external)|v4\/core\/index|v4\/locales\/(?!en\.)[\w-]+)\.js$/;

/**
 * Writes the whole program into a folder, the console into `console/` in it: JavaScript, minified, with its packages and with source maps. What is imported on demand stays a file of its
 * own, loaded on demand. Functions and classes keep their names, which stacks, logs and Fastify's messages show.
 * @returns the files that it is made of
 * @throws Error when a module is missing or broken
 */
export async function makeBundle(folder: string): Promise<string[]> {
  mkdirSync(folder, { recursive: true });
  const chunks = chunksByProgram(join(sources, 'cli/serve.ts'));
  const build = await rolldown({
    cwd: sources,
    platform: 'node',
    preserveEntrySignatures: 'allow-extension',
    // As Node strips types, whatever a configuration says.
    tsconfig: false,
    transform: { typescript: { onlyRemoveTypeImports: true } },
    input: Object.fromEntries(entries.map((name) => [name, join(sources, `${name}.ts`)])),
    plugins: [writtenUrls(sources), partsOfUndici(), chunks.plugin],
    logLevel: 'warn',
    // A package of Koa has one in a function that nothing calls; and what two chunks that are loaded on demand import is in a third one, as it should.
    checks: { eval: false, ineffectiveDynamicImport: false },
  });
  const groups = [
    { name: 'zod-exports', test: zodExports, priority: 1 },
    { name: chunks.nameOf, debugName: 'by program' },
  ];
  const { output } = await build.write({
    dir: folder,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name]-[hash].js',
    codeSplitting: { includeDependenciesRecursively: false, groups },
    minify: { compress: { keepNames: { function: true, class: true } }, mangle: { keepNames: true } },
    comments: false,
    // One other character in a file, and V8 keeps two bytes for each of its characters.
    charset: 'ascii',
    sourcemap: true,
    sourcemapExcludeSources: true,
  });
  await build.close();
  for (const file of plainFiles) cpSync(join(sources, file), join(folder, file));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n');
  // In the place of the template of its shell.
  const consoleModules = await makeConsole(join(folder, 'console'));
  return [...output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : [])), ...consoleModules];
}
