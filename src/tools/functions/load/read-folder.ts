import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { limits } from '../../../core/limits.ts';
import { loadModule, SlowModuleError } from './load-module.ts';
import type { ImportModule, LoadedModule } from './load-module.ts';
import { readExports } from './read-exports.ts';
import type { ModuleOffer } from './read-exports.ts';

/** A module of the folder: what was last loaded well, and what is wrong with what stands there now. */
export interface FolderModule {
  path: string;
  loaded: { module: LoadedModule; offer: ModuleOffer } | undefined;
  problem: string | undefined;
  /** It did not come to an end, or has not yet: it is not loaded again before it was changed. */
  isSlow: boolean;
  /** Of every file that it was made of. */
  stamps: ReadonlyMap<string, string>;
  /** It is still being loaded: what it has become stands in `module` once `settled` has resolved. */
  later?: { settled: Promise<void>; module?: FolderModule };
}

export interface FolderReading {
  /** In the order of their names. */
  modules: FolderModule[];
  /** Those that are new or were loaded anew, well or not. */
  changed: FolderModule[];
}

const isModule = (name: string): boolean => /^[^._].*\.(?:js|mjs|ts)$/.test(name) && !/\.d\.ts$|\.test\.[jt]s$/.test(name);

/**
 * Loads what is new in the folder or was changed, in it or in what it imports from below it; everything else stays the same object.
 * `retriesBroken`: loads what is broken again though it is unchanged, since what it lacks may be there now.
 * @throws Error when the folder cannot be read
 */
export async function readFolder(
  folder: string,
  known: readonly FolderModule[],
  { load, retriesBroken }: { load?: ImportModule; retriesBroken: boolean },
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
      return before !== undefined && !isRetried && (await isCurrent(before)) ? before : loadSoon(path, before, { folder, load });
    }),
  );
  return { modules, changed: modules.filter((module) => !known.includes(module)) };
}

async function isCurrent({ stamps }: FolderModule): Promise<boolean> {
  const now = await stampsOf([...stamps.keys()]);
  return [...stamps].every(([path, stamp]) => now.get(path) === stamp);
}

interface EntryOptions {
  folder: string;
  load: ImportModule | undefined;
}

/** One that takes its time does not hold up the others: it is given as it was before, and goes on loading. */
async function loadSoon(path: string, before: FolderModule | undefined, options: EntryOptions): Promise<FolderModule> {
  const own = await stampsOf([path, ...(before?.stamps.keys() ?? [])]);
  const loading = loadEntry(path, before, options);
  const { promise: late, resolve: giveUp } = Promise.withResolvers<undefined>();
  const timer = setTimeout(giveUp, limits.modulePatienceMs, undefined);
  const soon = await Promise.race([loading, late]);
  clearTimeout(timer);
  if (soon !== undefined) return soon;
  const later: NonNullable<FolderModule['later']> = { settled: loading.then((module) => void (later.module = module)) };
  const problem = `${path}: it is still loading after ${limits.modulePatienceMs / 1000} s, and joins the others when it is done; do less at its top level`;
  return { path, loaded: before?.loaded, problem, isSlow: true, stamps: own, later };
}

async function loadEntry(path: string, before: FolderModule | undefined, { folder, load }: EntryOptions): Promise<FolderModule> {
  // Taken before it is read: what is written meanwhile counts as a change.
  const own = await stampsOf([path, ...(before?.stamps.keys() ?? [])]);
  try {
    const module = await loadModule(path, { folder, ...(load && { load }) });
    const stamps = new Map([...(await stampsOf([...module.sources.keys()])), ...own]);
    return { path, loaded: { module, offer: readExports(module.exports) }, problem: undefined, isSlow: false, stamps };
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    const isSlow = error instanceof Error && error.cause instanceof SlowModuleError;
    return { path, loaded: before?.loaded, problem: problem.startsWith(path) ? problem : `${path}: ${problem}`, isSlow, stamps: own };
  }
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
