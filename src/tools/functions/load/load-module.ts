import { registerHooks, stripTypeScriptTypes } from 'node:module';
import { dirname, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { waitAtMost } from '../../../shared/async/wait-for.ts';
import { ownModule } from './own-modules.ts';
import { asUserCode, loadParameter, messageOfThrown } from './user-code.ts';

/** Loading one module of `tools_dir` or of a hook, including its top-level `await`. */
const moduleLoadMs = 10_000;

/** Imports a module by its URL. Tests replace it, because the test runner has its own loader. */
export type ImportModule = (url: string) => Promise<unknown>;

export const importModule: ImportModule = (url) => import(url);

export interface LoadedModule {
  path: string;
  exports: Readonly<Record<string, unknown>>;
  /** The source text of every file that was loaded for it, by path. */
  sources: ReadonlyMap<string, string>;
}

/** The module's top level did not finish in time. It is not retried, because it would delay every other module again. */
export class SlowModuleError extends Error {}

/**
 * Imports a fresh copy of a module, and of everything in `folder` that it imports. Earlier copies stay in memory, because Node.js never unloads
 * modules.
 * @throws Error with the file, the line and the reason
 */
export async function loadModule(
  path: string,
  { folder = dirname(path), load = importModule }: { folder?: string; load?: ImportModule } = {},
): Promise<LoadedModule> {
  const sources = new Map<string, string>();
  const { url, end } = beginLoad(path, { folder, sources });
  try {
    const loading = asUserCode(path, () => load(url));
    const exports = await waitAtMost(moduleLoadMs, loading, () => {
      throw new SlowModuleError(`it took more than ${moduleLoadMs / 1000} s to load; do less at its top level`);
    });
    return { path, exports: { ...(exports as object) }, sources };
  } catch (error) {
    throw new Error(describeLoadError(error, path, sources), { cause: error });
  } finally {
    end();
  }
}

/** `sources`: the files that were read. */
function describeLoadError(error: unknown, path: string, sources: ReadonlyMap<string, string>): string {
  if (!(error instanceof Error)) return `${path}: ${messageOfThrown(error)}`;
  const message = (error.message.split('\n')[0] ?? '').replaceAll(/\?toolwharf-load=\d+/g, '');
  const { url, line } = (error instanceof SyntaxError && (placeIn(error) ?? findSyntaxError(sources))) || {};
  if (url === undefined) return `${path}: ${message}`;
  const file = fileURLToPath(url);
  // The error may be in a file that the module imports.
  return file === path ? `${path}:${line}: ${message}` : `${path}: ${file}:${line}: ${message}`;
}

/** Where a syntax error is, which Node.js writes into the stack for TypeScript only. */
function placeIn({ stack = '' }: SyntaxError): { url: string; line: string } | undefined {
  const { url, line } = /^(?<url>file:\/\/[^\n]*?):(?<line>\d+)\n/.exec(stack)?.groups ?? {};
  return url === undefined || line === undefined ? undefined : { url, line };
}

/** Reads JavaScript as TypeScript, for the place of its error. */
function findSyntaxError(sources: ReadonlyMap<string, string>): { url: string; line: string } | undefined {
  for (const [path, source] of sources) {
    try {
      stripTypeScriptTypes(source, { sourceUrl: pathToFileURL(path).href });
    } catch (error) {
      const place = error instanceof SyntaxError ? placeIn(error) : undefined;
      if (place !== undefined) return place;
    }
  }
  return undefined;
}

/** One fresh import of a module and of the files in its folder that it imports. */
interface ModuleLoad {
  /** Files below this folder are loaded afresh; those outside of it or in `node_modules` are left to Node.js. */
  folder: string;
  /**
   * The source text of every file that was read, by path. A worker thread gets the same text, so that it runs the loaded version even if the file has
   * changed since.
   */
  sources: Map<string, string>;
}

const loads = new Map<string, ModuleLoad>();
let isInstalled = false;
let count = 0;

/**
 * Returns the URL for a fresh import of a module, and `end`, to be called when the import is done. Each load adds its own id to the URLs of its
 * modules, because Node.js caches modules by URL for the lifetime of the process.
 */
export function beginLoad(path: string, load: ModuleLoad): { url: string; end: () => void } {
  installLoaderHooks();
  count += 1;
  const id = String(count);
  loads.set(id, load);
  // A module may call `import()` later, so the load stays registered; only the source texts, which take memory, are dropped.
  return { url: withLoadId(pathToFileURL(path), id), end: () => void loads.set(id, { ...load, sources: new Map() }) };
}

/**
 * In modules of the folder, `toolwharf` and `zod` resolve to the gateway's own copies wherever the folder is, `.js` is an ES module even without a
 * package.json, and `.ts` needs no build.
 */
function installLoaderHooks(): void {
  if (isInstalled) return;
  isInstalled = true;
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const { parentURL } = context;
      const importerId = parentURL === undefined ? undefined : loadIdOf(parentURL);
      const own = importerId === undefined ? undefined : ownModule(specifier);
      if (own !== undefined) return { url: own, format: formatOf(own) ?? 'module', shortCircuit: true };
      const known = findKnown(specifier, parentURL);
      const resolved = known === undefined ? nextResolve(specifier, context) : { url: known, shortCircuit: true };
      const id = importerId ?? loadIdOf(resolved.url);
      const load = id === undefined ? undefined : loads.get(id);
      if (id === undefined || load === undefined || !isWithin(resolved.url, load.folder)) return resolved;
      const format = formatOf(resolved.url);
      return { ...resolved, url: withLoadId(new URL(resolved.url), id), ...(format !== undefined && { format }) };
    },
    load(url, context, nextLoad) {
      const load = loads.get(loadIdOf(url) ?? '');
      if (load === undefined) return nextLoad(url, context);
      const path = pathOf(url);
      const known = load.sources.get(path);
      if (known !== undefined && context.format !== undefined) return { format: context.format, source: known, shortCircuit: true };
      const loaded = nextLoad(url, context);
      const { source } = loaded;
      if (source !== undefined && source !== null)
        load.sources.set(path, typeof source === 'string' ? source : new TextDecoder().decode(source));
      return loaded;
    },
  });
}

/** Resolves a file whose source text is known; it may have been deleted since. */
function findKnown(specifier: string, parentUrl: string | undefined): string | undefined {
  if (!/^(?:file:|\.)/.test(specifier) || !URL.canParse(specifier, parentUrl)) return undefined;
  const { href } = new URL(specifier, parentUrl);
  const id = loadIdOf(href) ?? (parentUrl === undefined ? undefined : loadIdOf(parentUrl));
  return loads.get(id ?? '')?.sources.has(pathOf(href)) === true ? href : undefined;
}

function withLoadId(url: URL, id: string): string {
  url.searchParams.set(loadParameter, id);
  return url.href;
}

function loadIdOf(url: string): string | undefined {
  if (!url.startsWith('file:') || !url.includes(loadParameter)) return undefined;
  return new URL(url).searchParams.get(loadParameter) ?? undefined;
}

function isWithin(url: string, folder: string): boolean {
  return url.startsWith('file:') && !url.includes('/node_modules/') && pathOf(url).startsWith(`${folder}${sep}`);
}

function formatOf(url: string): 'module' | 'module-typescript' | undefined {
  const kind = /\.m?(?<kind>[tj]s)$/.exec(new URL(url).pathname)?.groups?.['kind'];
  return kind === undefined ? undefined : kind === 'ts' ? 'module-typescript' : 'module';
}

/** The path of a `file:` URL, with or without a query. */
function pathOf(url: string): string {
  const plain = new URL(url);
  plain.search = '';
  plain.hash = '';
  return fileURLToPath(plain);
}
