import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { limits } from '../../../core/limits.ts';
import { waitAtMost } from '../../../shared/wait-for.ts';
import { isFunctionTool, isToolset } from '../define/function-definition.ts';
import type { FunctionTool, Toolset } from '../define/function-definition.ts';
import { loadModule, SlowModuleError } from './load-module.ts';
import type { ImportModule, LoadedModule } from './load-module.ts';

/** What a module in `tools_dir` offers. */
export interface ModuleOffer {
  /** Those that are in no toolset of the module. */
  functions: FunctionTool[];
  toolsets: Toolset[];
}

/** A module of the folder: what was last loaded well, and what is wrong with the file as it is now. */
export interface FolderModule {
  path: string;
  loaded: { module: LoadedModule; offer: ModuleOffer } | undefined;
  problem: string | undefined;
  /** It did not come to an end, or has not yet: it is not loaded again before it was changed. */
  isSlow: boolean;
  /** Of every file that it was made of: what changes when the file does. */
  stamps: ReadonlyMap<string, string>;
  /** It is still being loaded: what it has become is in `module` once `settled` has resolved. */
  later?: { settled: Promise<void>; module?: FolderModule };
}

export interface FolderReading {
  /** In the order of their names. */
  modules: FolderModule[];
  /** Those that are new or were loaded anew, well or not. */
  changed: FolderModule[];
}

interface ReadOptions {
  load?: ImportModule;
  /** Loads what is broken again though it is unchanged, since what it lacks may be there now. */
  retriesBroken: boolean;
}

const isModule = (name: string): boolean => /^[^._].*\.(?:js|mjs|ts)$/.test(name) && !/\.d\.ts$|\.test\.[jt]s$/.test(name);

/**
 * Loads what is new in the folder or was changed, in it or in what it imports from below it; everything else stays the same object.
 * @throws Error when the folder cannot be read
 */
export async function readFolder(
  folder: string,
  known: readonly FolderModule[],
  { load, retriesBroken }: ReadOptions,
): Promise<FolderReading> {
  const names = (await readdir(folder)).filter(isModule).toSorted();
  if (names.length > limits.toolModules)
    throw new Error(`it holds ${names.length} modules, at most ${limits.toolModules} are possible; is it the right folder?`);
  // Side by side, so that one that takes its time holds up no other; their order stays.
  const modules = await Promise.all(
    names.map(async (name) => {
      const path = join(folder, name);
      const last = known.find((entry) => entry.path === path);
      const before = last?.later?.module ?? last;
      const isRetried = retriesBroken && before?.problem !== undefined && !before.isSlow;
      if (before !== undefined && !isRetried && (await isCurrent(before))) return before;
      // Taken before it is read: what is written meanwhile counts as a change.
      const stamps = await stampsOf([path, ...(before?.stamps.keys() ?? [])]);
      const unchanged = { path, loaded: before?.loaded, stamps };
      return orLater(unchanged, loadEntry(unchanged, { folder, ...(load && { load }) }));
    }),
  );
  return { modules, changed: modules.filter((module) => !known.includes(module)) };
}

type Unchanged = Pick<FolderModule, 'path' | 'loaded' | 'stamps'>;

/** One that takes its time does not hold up the others: it is given as it was before, and goes on loading. */
function orLater(unchanged: Unchanged, loading: Promise<FolderModule>): Promise<FolderModule> {
  return waitAtMost(limits.modulePatienceMs, loading, (): FolderModule => {
    const later: NonNullable<FolderModule['later']> = { settled: loading.then((module) => void (later.module = module)) };
    const seconds = limits.modulePatienceMs / 1000;
    const problem = `${unchanged.path}: it is still loading after ${seconds} s, and joins the others when it is done; do less at its top level`;
    return { ...unchanged, problem, isSlow: true, later };
  });
}

async function loadEntry(unchanged: Unchanged, options: { folder: string; load?: ImportModule }): Promise<FolderModule> {
  const { path } = unchanged;
  try {
    const module = await loadModule(path, options);
    const stamps = new Map([...(await stampsOf([...module.sources.keys()])), ...unchanged.stamps]);
    return { path, loaded: { module, offer: readExports(module.exports) }, problem: undefined, isSlow: false, stamps };
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    const isSlow = error instanceof Error && error.cause instanceof SlowModuleError;
    return { ...unchanged, problem: problem.startsWith(path) ? problem : `${path}: ${problem}`, isSlow };
  }
}

/**
 * Default and named exports, lists of them included, for modules that make several. What is no function or toolset is the module's own business.
 * @throws Error when there is nothing, or too much
 */
function readExports(exports: Readonly<Record<string, unknown>>): ModuleOffer {
  const found = [...new Set(Object.values(exports).flat())];
  const toolsets = found.filter(isToolset);
  const bundled = new Set(toolsets.flatMap(({ tools }) => tools));
  const functions = found.filter(isFunctionTool).filter((tool) => !bundled.has(tool));
  const count = functions.length + bundled.size;
  if (count > limits.functionsPerModule)
    throw new Error(`it has ${count} functions, at most ${limits.functionsPerModule} are possible; make several modules`);
  if (functions.length === 0 && toolsets.length === 0)
    throw new Error(
      'it exports nothing that defineTool or defineToolset gave; a file that others only import has a name that begins with _',
    );
  return { functions, toolsets };
}

async function isCurrent({ stamps }: FolderModule): Promise<boolean> {
  const now = await stampsOf([...stamps.keys()]);
  return [...stamps].every(([path, stamp]) => now.get(path) === stamp);
}

/** The size too: two writes within the clock's step look alike otherwise. */
async function stampsOf(paths: readonly string[]): Promise<Map<string, string>> {
  const entries = await Promise.all(
    paths.map(async (path): Promise<[string, string]> => {
      const found = await stat(path).catch(() => undefined);
      return [path, found === undefined ? 'gone' : `${found.mtimeMs} ${found.size} ${found.ino}`];
    }),
  );
  return new Map(entries);
}
