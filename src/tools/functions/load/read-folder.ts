import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { limits } from '../../../core/limits.ts';
import { waitAtMost } from '../../../shared/async/wait-for.ts';
import { isComplete, isFunctionTool, isToolset, type FunctionTool, type Toolset } from '../define/function-definition.ts';
import { loadModule, SlowModuleError, type ImportModule, type LoadedModule } from './load-module.ts';
import { messageOfThrown } from './user-code.ts';

/** The first chats wait this long for the modules; slower ones are added later. */
export const modulePatienceMs = 2_000;

/** Modules in `tools_dir`; with more, the path is most likely wrong. */
const toolModules = 500;

/** The functions and toolsets that a module in `tools_dir` exports. */
interface ModuleOffer {
  /** Functions that are in no toolset of the module. */
  functions: FunctionTool[];
  toolsets: Toolset[];
}

/** A module of the folder: its last good version, and what is wrong with the current one. */
export interface FolderModule {
  path: string;
  loaded: { module: LoadedModule; offer: ModuleOffer } | undefined;
  problem: string | undefined;
  /** Loading did not finish in time. It is not loaded again until one of its files changes. */
  isSlow: boolean;
  /** A stamp of every file that was loaded for it; the stamp changes when the file does. */
  stamps: ReadonlyMap<string, string>;
  /** Set while the module is still loading; `module` is set once `settled` has resolved. */
  later?: { settled: Promise<void>; module?: FolderModule };
}

interface FolderReading {
  /** In the order of their file names. */
  modules: FolderModule[];
  /** Modules that are new or were reloaded, successfully or not. */
  changed: FolderModule[];
}

interface ReadOptions {
  load?: ImportModule;
  /** Also reloads broken modules that have not changed, because a missing dependency may be there now. */
  retriesBroken: boolean;
}

const isModule = (name: string): boolean => /^[^._].*\.(?:js|mjs|ts)$/.test(name) && !/\.d\.ts$|\.test\.[jt]s$/.test(name);

/**
 * Loads modules that are new or have changed, including the files that they import from the folder; unchanged modules stay the same objects.
 * @throws Error when the folder cannot be read
 */
export async function readFolder(
  folder: string,
  known: readonly FolderModule[],
  { load, retriesBroken }: ReadOptions,
): Promise<FolderReading> {
  const names = (await readdir(folder)).filter(isModule).toSorted();
  if (names.length > toolModules)
    throw new Error(`it holds ${names.length} modules, and the maximum is ${toolModules}; is it the right folder?`);
  // In parallel, so that a slow module delays no other.
  const modules = await Promise.all(
    names.map(async (name) => {
      const path = join(folder, name);
      const last = known.find((entry) => entry.path === path);
      const before = last?.later?.module ?? last;
      const isRetried = retriesBroken && before?.problem !== undefined && !before.isSlow;
      if (before !== undefined && !isRetried && (await isCurrent(before))) return before;
      // Taken before the file is read, so that a write during the load counts as a change.
      const stamps = await stampsOf([path, ...(before?.stamps.keys() ?? [])]);
      const unchanged = { path, loaded: before?.loaded, stamps };
      return waitOrDefer(unchanged, loadEntry(unchanged, { folder, ...(load && { load }) }));
    }),
  );
  return { modules, changed: modules.filter((module) => !known.includes(module)) };
}

type Unchanged = Pick<FolderModule, 'path' | 'loaded' | 'stamps'>;

/** Waits a limited time for a module. A slow module keeps its previous version and continues to load, so that it delays no other. */
function waitOrDefer(unchanged: Unchanged, loading: Promise<FolderModule>): Promise<FolderModule> {
  return waitAtMost(modulePatienceMs, loading, (): FolderModule => {
    const later: NonNullable<FolderModule['later']> = { settled: loading.then((module) => void (later.module = module)) };
    const seconds = modulePatienceMs / 1000;
    const problem = `${unchanged.path}: it is still loading after ${seconds} s and is offered once it is done; do less at its top level`;
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
    const problem = messageOfThrown(error);
    const isSlow = error instanceof Error && error.cause instanceof SlowModuleError;
    return { ...unchanged, problem: problem.startsWith(path) ? problem : `${path}: ${problem}`, isSlow };
  }
}

/**
 * Reads default and named exports, and arrays of them. Other exports are ignored.
 * @throws Error if there is no function or toolset, or too many, or an incomplete one
 */
function readExports(exports: Readonly<Record<string, unknown>>): ModuleOffer {
  const found = [...new Set(Object.values(exports).flat())];
  const toolsets = found.filter(isToolset);
  if (![...toolsets, ...found.filter(isFunctionTool)].every(isComplete))
    throw new Error('it exports a function or toolset that is incomplete; make it with defineTool or defineToolset');
  const bundled = new Set(toolsets.flatMap(({ tools }) => tools));
  const functions = found.filter(isFunctionTool).filter((tool) => !bundled.has(tool));
  const count = functions.length + bundled.size;
  if (count > limits.functionsPerModule)
    throw new Error(`it has ${count} functions, and the maximum is ${limits.functionsPerModule}; split it into several modules`);
  if (functions.length === 0 && toolsets.length === 0)
    throw new Error(
      'it exports nothing made by defineTool or defineToolset; let the name of a file that is only imported by others begin with _',
    );
  return { functions, toolsets };
}

async function isCurrent({ stamps }: FolderModule): Promise<boolean> {
  const now = await stampsOf([...stamps.keys()]);
  return [...stamps].every(([path, stamp]) => now.get(path) === stamp);
}

/** Includes size and inode: two writes within the resolution of the file system's clock have the same time. */
async function stampsOf(paths: readonly string[]): Promise<Map<string, string>> {
  const entries = await Promise.all(
    paths.map(async (path): Promise<[string, string]> => {
      const found = await stat(path).catch(() => undefined);
      return [path, found === undefined ? 'gone' : `${found.mtimeMs} ${found.size} ${found.ino}`];
    }),
  );
  return new Map(entries);
}
