import { registerHooks } from 'node:module';
import { sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** One import of a module with everything below its folder that it imports itself. */
export interface ModuleLoad {
  /** The root of what is loaded by itself; what lies outside, or below `node_modules`, is Node's business. */
  folder: string;
  /** Text of every file that was read, by path. A thread is given the same text, so that it runs what was loaded and not what the file has become. */
  sources: Map<string, string>;
}

/** Marks the files of one load, so that each load has modules of its own: Node keeps every module by its address for ever. */
export const loadParameter = 'toolwharf-load';
const loads = new Map<string, ModuleLoad>();
let isInstalled = false;
let count = 0;

/** The address under which a module is imported anew, and the way to forget about the load when the import has ended. */
export function beginLoad(path: string, load: ModuleLoad): { url: string; end: () => void } {
  installHooks();
  count += 1;
  const id = String(count);
  loads.set(id, load);
  const url = pathToFileURL(path);
  url.searchParams.set(loadParameter, id);
  // A module may import others as long as it lives, so what is known of its folder stays; texts are what takes room.
  return { url: url.href, end: () => void loads.set(id, { ...load, sources: new Map() }) };
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
      const owner = context.parentURL === undefined ? undefined : idIn(context.parentURL);
      if (owner !== undefined && (specifier === 'toolwharf' || specifier === 'zod' || specifier.startsWith('zod/'))) {
        if (specifier === 'toolwharf')
          return { url: entryUrl, format: entryUrl.endsWith('.ts') ? 'module-typescript' : 'module', shortCircuit: true };
        return nextResolve(specifier, { ...context, parentURL: import.meta.url });
      }
      const kept = keptAt(specifier, context.parentURL);
      const resolved = kept === undefined ? nextResolve(specifier, context) : { url: kept, shortCircuit: true };
      const id = owner ?? idIn(resolved.url);
      const load = id === undefined ? undefined : loads.get(id);
      if (id === undefined || load === undefined || !isOwn(resolved.url, load.folder)) return resolved;
      const url = new URL(resolved.url);
      url.searchParams.set(loadParameter, id);
      const format = formatOf(url.pathname);
      return { ...resolved, url: url.href, ...(format !== undefined && { format }) };
    },
    load(url, context, nextLoad) {
      const id = idIn(url);
      const load = id === undefined ? undefined : loads.get(id);
      if (load === undefined) return nextLoad(url, context);
      const path = fileURLToPath(withoutQuery(url));
      const known = load.sources.get(path);
      if (known !== undefined && context.format !== undefined) return { format: context.format, source: known, shortCircuit: true };
      const loaded = nextLoad(url, context);
      if (typeof loaded.source === 'string') load.sources.set(path, loaded.source);
      else if (loaded.source !== undefined) load.sources.set(path, new TextDecoder().decode(loaded.source));
      return loaded;
    },
  });
}

const entryUrl = new URL(`../../../package-entry.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url).href;

/** A file whose text is known need not be there any more. */
function keptAt(specifier: string, parentUrl: string | undefined): string | undefined {
  if (!/^(?:file:|\.)/.test(specifier) || !URL.canParse(specifier, parentUrl)) return undefined;
  const { href } = new URL(specifier, parentUrl);
  const id = idIn(href) ?? (parentUrl === undefined ? undefined : idIn(parentUrl));
  const sources = id === undefined ? undefined : loads.get(id)?.sources;
  return sources?.has(fileURLToPath(withoutQuery(href))) === true ? href : undefined;
}

function idIn(url: string): string | undefined {
  if (!url.startsWith('file:') || !url.includes(loadParameter)) return undefined;
  return new URL(url).searchParams.get(loadParameter) ?? undefined;
}

function isOwn(url: string, folder: string): boolean {
  if (!url.startsWith('file:') || url.includes('/node_modules/')) return false;
  return fileURLToPath(withoutQuery(url)).startsWith(`${folder}${sep}`);
}

function formatOf(path: string): 'module' | 'module-typescript' | undefined {
  if (/\.m?ts$/.test(path)) return 'module-typescript';
  return /\.m?js$/.test(path) ? 'module' : undefined;
}

function withoutQuery(url: string): URL {
  const plain = new URL(url);
  plain.search = '';
  plain.hash = '';
  return plain;
}
