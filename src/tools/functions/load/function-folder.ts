import { limits } from '../../../core/limits.ts';
import type { Toolset } from '../define/function-definition.ts';
import { buildFunctionRegistry, emptyFunctionRegistry } from './function-registry.ts';
import type { FunctionRegistry, ToolsetSetting } from './function-registry.ts';
import type { ImportModule, LoadedModule } from './load-module.ts';
import { readFolder } from './read-folder.ts';
import type { FolderModule } from './read-folder.ts';
import { createToolsetOpener } from './toolset-opener.ts';
import type { ToolsetVersion } from './toolset-version.ts';
import { watchFolder } from './watch-folder.ts';

/** What an operator should know: each thing once. */
export interface FolderNews {
  level: 'info' | 'warn' | 'error';
  message: string;
  functions?: string[];
}

export interface FunctionFolderOptions {
  folder: string;
  toolsets: readonly ToolsetSetting[];
  tell: (news: FolderNews) => void;
  /** Default: Node's own import. */
  load?: ImportModule;
}

/** The functions of `tools_dir`, as they are at the moment. */
export interface FunctionFolder {
  /** Waits for the first look alone; the shelf of a run is its own for ever. */
  shelf(): Promise<FunctionRegistry>;
  /** Looks now; resolves when what was found is on offer. `isTold`: something has changed. */
  look(isTold?: boolean): Promise<void>;
  watch(): void;
  close(): Promise<void>;
}

export function createFunctionFolder({ folder, toolsets: settings, tell, load }: FunctionFolderOptions): FunctionFolder {
  let modules: FolderModule[] = [];
  let versions = new Map<string, ToolsetVersion>();
  const opener = createToolsetOpener({
    onReady: () => void look(),
    onCloseFault: ({ id }, error) => tell({ level: 'warn', message: toolsetFault(id, 'close', error) }),
  });
  let shelf: FunctionRegistry = emptyFunctionRegistry;
  let looking: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  let isTellingNews = false;
  let first: Promise<void> | undefined;
  let unwatch: (() => void) | undefined;
  let isClosed = false;
  let told = new Set<string>();

  async function lookOnce(isTold: boolean): Promise<void> {
    const said = new Set<string>();
    // A problem that lasts is told once, and again when it comes back.
    const complain: Complain = (level, message) => {
      if (!told.has(message) && !said.has(message)) tell({ level, message });
      said.add(message);
    };
    try {
      const reading = await readFolder(folder, modules, { retriesBroken: isTold, ...(load && { load }) });
      modules = reading.modules;
      for (const { problem, loaded, later } of modules) {
        const level = later === undefined ? 'error' : 'warn';
        if (problem !== undefined) complain(level, `${problem}${loaded === undefined ? '' : ' (its last good version stays in use)'}`);
      }
      for (const { later } of reading.changed) void later?.settled.then(() => look());
      const opened = await openToolsets(modules, complain);
      const replaced = [...versions.values()].filter((version) => opened.get(version.toolset.id) !== version);
      versions = opened;
      shelf = buildFunctionRegistry(modules, { versions, settings, tell: (problem) => complain('warn', problem) });
      for (const version of replaced) version.retire();
      for (const { path, loaded, problem } of reading.changed) {
        if (problem === undefined && loaded !== undefined)
          tell({ level: 'info', message: `${path} is loaded`, functions: namesOf(loaded.offer) });
      }
    } catch (error) {
      complain('error', `tools_dir: ${folder} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
    }
    told = said;
  }

  /** A set whose `setup` fails leaves the one before it in place; another look tries again. */
  async function openToolsets(from: readonly FolderModule[], complain: Complain): Promise<Map<string, ToolsetVersion>> {
    const wanted = new Map<string, { toolset: Toolset; module: LoadedModule }>();
    for (const { path, loaded } of from) {
      if (loaded === undefined) continue;
      const { module } = loaded;
      for (const toolset of loaded.offer.toolsets) {
        if (wanted.has(toolset.id))
          complain('error', `${path}: the toolset "${toolset.id}" replaces the one of another module; give one of them another id`);
        wanted.set(toolset.id, { toolset, module });
      }
    }
    opener.keepOnly(new Set(Array.from(wanted.values(), ({ toolset }) => toolset)));
    const opened = await Promise.all(
      Array.from(wanted.values(), async ({ toolset, module }): Promise<ToolsetVersion | undefined> => {
        const before = versions.get(toolset.id);
        if (before?.toolset === toolset) return before;
        try {
          const version = await opener.open(toolset, module);
          if (version !== undefined) return version;
          const seconds = limits.modulePatienceMs / 1000;
          complain('warn', `the toolset "${toolset.id}": setup is still under way after ${seconds} s; it joins the others when it is done`);
        } catch (error) {
          complain('error', toolsetFault(toolset.id, 'setup', error));
        }
        return before;
      }),
    );
    return new Map(opened.flatMap((version) => (version === undefined ? [] : [[version.toolset.id, version]])));
  }

  /** One look at a time; those who ask meanwhile share one that begins after it, for a folder that is written to must not make a queue. */
  function look(isTold = true): Promise<void> {
    if (isClosed) return Promise.resolve();
    isTellingNews ||= isTold;
    if (next !== undefined) return next;
    const own = (looking ?? Promise.resolve()).then(async () => {
      const isNews = isTellingNews;
      [isTellingNews, looking, next] = [false, own, undefined];
      if (!isClosed) await lookOnce(isNews);
      if (looking === own) looking = undefined;
    });
    next = own;
    first ??= own;
    return own;
  }

  return {
    async shelf() {
      await (first ?? look());
      return shelf;
    },
    look,
    watch() {
      unwatch ??= watchFolder(folder, (isTold) => {
        // A slow look is not queued behind itself.
        if (isTold || (looking ?? next) === undefined) void look(isTold);
      });
    },
    async close() {
      isClosed = true;
      opener.keepOnly(new Set());
      unwatch?.();
      await (next ?? looking);
      await Promise.all(Array.from(versions.values(), (version) => version.close()));
    },
  };
}

type Complain = (level: 'warn' | 'error', message: string) => void;

function toolsetFault(id: string, what: string, error: unknown): string {
  return `the toolset "${id}": ${what} failed: ${error instanceof Error ? error.message : String(error)}`;
}

function namesOf({ functions, toolsets }: { functions: readonly { name: string }[]; toolsets: readonly Toolset[] }): string[] {
  return [...functions.map(({ name }) => name), ...toolsets.flatMap(({ id, tools }) => tools.map(({ name }) => `${id}/${name}`))];
}
