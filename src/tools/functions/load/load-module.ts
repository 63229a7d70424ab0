import { registerHooks } from 'node:module';
import { dirname, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { limits } from '../../../core/limits.ts';
import { waitAtMost } from '../../../shared/wait-for.ts';
import { asUserCode, loadParameter } from './user-code.ts';

/** Imports a module by its address. Replaced in tests, whose runner has another loader than Node's. */
export type ImportModule = (url: string) => Promise<unknown>;

export const importModule: ImportModule = (url) => import(url);

export interface LoadedModule {
  path: string;
  exports: Readonly<Record<string, unknown>>;
  /** Text of every file that belongs to it, by path. */
  sources: ReadonlyMap<string, string>;
}

/** Its top level waits for something: to load it once more would hold up every other module again. */
export class SlowModuleError extends Error {}

/**
 * Imports a module anew with everything below `folder` that it imports. What was loaded before stays in memory, as modules do.
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
    const exports = await waitAtMost(limits.moduleLoadMs, loading, () => {
      throw new SlowModuleError(`it took more than ${limits.moduleLoadMs / 1000} s to load; do less at its top level`);
    });
    return { path, exports: { ...(exports as object) }, sources };
  } catch (error) {
    throw new Error(explained(error, path), { cause: error });
  } finally {
    end();
  }
}

/** Node says where a syntax error is for TypeScript, in the stack; of JavaScript it knows the file alone. */
function explained(error: unknown, path: string): string {
  if (!(error instanceof Error)) return `${path}: ${String(error)}`;
  const message = (error.message.split('\n')[0] ?? '').replaceAll(/\?toolwharf-load=\d+/g, '');
  const { url, line } = (error instanceof SyntaxError && /^(?<url>file:\/\/[^\n]*?):(?<line>\d+)\n/.exec(error.stack ?? '')?.groups) || {};
  if (url === undefined) return `${path}: ${message}`;
  const file = fileURLToPath(url);
  // What it imports may be what is broken.
  return file === path ? `${path}:${line}: ${message}` : `${path}: ${file}:${line}: ${message}`;
}

/** One import of a module with everything below its folder that it imports itself. */
export interface ModuleLoad {
  /** The root of what is loaded by itself; what lies outside, or below `node_modules`, is Node's business. */
  folder: string;
  /** Text of every file that was read, by path. A thread is given the same text, so that it runs what was loaded and not what the file has become. */
  sources: Map<string, string>;
}

const loads = new Map<string, ModuleLoad>();
let isInstalled = false;
let count = 0;

/**
 * The address under which a module is imported anew, and the way to forget about the load when the import has ended. Each load has modules of its own,
 * by an id in their address: Node keeps every module by its address for ever.
 */
export function beginLoad(path: string, load: ModuleLoad): { url: string; end: () => void } {
  installHooks();
  count += 1;
  const id = String(count);
  loads.set(id, load);
  // A module may import others as long as it lives, so what is known of its folder stays; texts are what takes room.
  return { url: withLoadId(pathToFileURL(path), id), end: () => void loads.set(id, { ...load, sources: new Map() }) };
}

/**
 * Within such a folder `toolwharf` and `zod` are the gateway's own wherever the folder lies, `.js` is an ES module without a package.json that says
 * so, and `.ts` needs no build.
 */
function installHooks(): void {
  if (isInstalled) return;
  isInstalled = true;
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const { parentURL } = context;
      const importerId = parentURL === undefined ? undefined : loadIdOf(parentURL);
      if (importerId !== undefined && specifier === 'toolwharf')
        return { url: entryUrl, format: entryUrl.endsWith('.ts') ? 'module-typescript' : 'module', shortCircuit: true };
      if (importerId !== undefined && /^zod(?:\/|$)/.test(specifier))
        return nextResolve(specifier, { ...context, parentURL: import.meta.url });
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

const entryUrl = new URL(`../../../package-entry.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url).href;

/** A file whose text is known need not be there any more. */
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

/** Of a `file:` address, with a query or without. */
function pathOf(url: string): string {
  const plain = new URL(url);
  plain.search = '';
  plain.hash = '';
  return fileURLToPath(plain);
}
