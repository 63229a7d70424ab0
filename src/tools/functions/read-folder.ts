import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { limits } from '../../core/limits.ts';
import { loadModule, SlowModuleError } from './load-module.ts';
import type { ImportModule, LoadedModule } from './load-module.ts';
import { readExports } from './read-exports.ts';
import type { ModuleOffer } from './read-exports.ts';

/** A module of the folder: what was last loaded well, and what is wrong with what stands there now. */
export interface FolderModule {
  path: string;
  loaded: { module: LoadedModule; offer: ModuleOffer } | undefined;
  problem: string | undefined;
  /** It did not come to an end: only a change of its own can help. */
  isSlow: boolean;
  /** Of every file that it was made of. */
  stamps: ReadonlyMap<string, string>;
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
      const before = known.find((entry) => entry.path === path);
      const isRetried = retriesBroken && before?.problem !== undefined && !before.isSlow;
      return before !== undefined && !isRetried && (await isCurrent(before)) ? before : loadEntry(path, before, { folder, load });
    }),
  );
  return { modules, changed: modules.filter((module) => !known.includes(module)) };
}

async function isCurrent({ stamps }: FolderModule): Promise<boolean> {
  const now = await stampsOf([...stamps.keys()]);
  return [...stamps].every(([path, stamp]) => now.get(path) === stamp);
}

async function loadEntry(
  path: string,
  before: FolderModule | undefined,
  { folder, load }: { folder: string; load: ImportModule | undefined },
): Promise<FolderModule> {
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
