import { watch, type FSWatcher } from 'node:fs';
import pLimit from 'p-limit';
import type { Toolset } from '../define/function-definition.ts';
import { buildFunctionRegistry, emptyFunctionRegistry, type FunctionRegistry, type ToolsetSetting } from './function-registry.ts';
import type { ImportModule, LoadedModule } from './load-module.ts';
import { createToolsetOpener, type ToolsetVersion } from './open-toolset.ts';
import { readFolder, modulePatienceMs, type FolderModule } from './read-folder.ts';
import { messageOfThrown } from './user-code.ts';

/** A log entry for the operator. */
export interface FolderMessage {
  level: 'info' | 'warn' | 'error';
  message: string;
  functions?: string[];
}

/** The folder as it was last loaded. */
export interface FolderState {
  modules: readonly FolderModule[];
  registry: FunctionRegistry;
  /** `error`: something is not on offer, or only in an earlier version. */
  problems: readonly { level: 'warn' | 'error'; message: string }[];
}

interface FunctionFolderOptions {
  folder: string;
  toolsets: readonly ToolsetSetting[];
  log: (message: FolderMessage) => void;
  /** Default: Node's `import()`. */
  load?: ImportModule;
  onChanged?: () => void;
}

/** The functions of `tools_dir`, reloaded when files change. */
export interface FunctionFolder {
  /** The offered functions and the problems found in the last load. */
  state(): Promise<FolderState>;
  /** Waits only for the first load. The returned registry is immutable. */
  registry(): Promise<FunctionRegistry>;
  /** Resolves when the changes are on offer. `retriesBroken`: also reloads broken modules that have not changed. */
  reload(retriesBroken?: boolean): Promise<void>;
  watch(): void;
  close(): Promise<void>;
}

export function createFunctionFolder({ folder, toolsets: settings, log, load, onChanged }: FunctionFolderOptions): FunctionFolder {
  let modules: FolderModule[] = [];
  let versions = new Map<string, ToolsetVersion>();
  let registry: FunctionRegistry = emptyFunctionRegistry;
  const opener = createToolsetOpener({
    onReady: () => void reload(),
    onCloseFault: ({ id }, error) => log({ level: 'warn', message: toolsetFault(id, 'close', error) }),
  });
  const oneAtATime = pLimit(1);
  let next: Promise<void> | undefined;
  let isNextRetrying = false;
  let first: Promise<void> | undefined;
  let stopWatching: (() => void) | undefined;
  let isClosed = false;
  let logged = new Map<string, 'warn' | 'error'>();

  async function loadOnce(retriesBroken: boolean): Promise<void> {
    const problems = new Map<string, 'warn' | 'error'>();
    // A problem is logged when it appears, not again while it persists.
    const report: Report = (level, message) => {
      if (!logged.has(message) && !problems.has(message)) log({ level, message });
      problems.set(message, level);
    };
    try {
      const reading = await readFolder(folder, modules, { retriesBroken, ...(load && { load }) });
      const isSame = reading.changed.length === 0 && reading.modules.length === modules.length;
      modules = reading.modules;
      for (const { problem, loaded, later } of modules) {
        const level = later === undefined ? 'error' : 'warn';
        if (problem !== undefined) report(level, `${problem}${loaded === undefined ? '' : ' (its last good version stays in use)'}`);
      }
      for (const { later } of reading.changed) void later?.settled.then(() => reload());
      const opened = await openToolsets(report);
      const replaced = [...versions.values()].filter((version) => opened.get(version.toolset.id) !== version);
      versions = opened;
      registry = buildFunctionRegistry(modules, { versions, settings, warn: (problem) => report('warn', problem) });
      for (const version of replaced) version.retire();
      if (!isSame || replaced.length > 0) onChanged?.();
      for (const { path, loaded, problem } of reading.changed)
        if (problem === undefined && loaded !== undefined)
          log({ level: 'info', message: `${path} is loaded`, functions: namesOf(loaded.offer) });
    } catch (error) {
      report('error', `tools_dir: ${folder} cannot be read: ${messageOfThrown(error)}`);
    }
    logged = problems;
  }

  /** If `setup` fails, the previous version of the toolset stays in use, and the next load tries again. */
  async function openToolsets(report: Report): Promise<Map<string, ToolsetVersion>> {
    const wanted = new Map<string, { toolset: Toolset; module: LoadedModule }>();
    for (const { path, loaded } of modules) {
      for (const toolset of loaded?.offer.toolsets ?? []) {
        if (loaded === undefined) continue;
        if (wanted.has(toolset.id))
          report('error', `${path}: the toolset "${toolset.id}" replaces the one of another module; change one of the ids`);
        wanted.set(toolset.id, { toolset, module: loaded.module });
      }
    }
    opener.keepOnly(new Set(Array.from(wanted.values(), ({ toolset }) => toolset)));
    const opened = await Promise.all(
      Array.from(wanted, async ([id, { toolset, module }]): Promise<[string, ToolsetVersion][]> => {
        const before = versions.get(id);
        const version = before?.toolset === toolset ? before : ((await openOrReport(toolset, module, report)) ?? before);
        return version === undefined ? [] : [[id, version]];
      }),
    );
    return new Map(opened.flat());
  }

  async function openOrReport(toolset: Toolset, module: LoadedModule, report: Report): Promise<ToolsetVersion | undefined> {
    try {
      const version = await opener.open(toolset, module);
      const seconds = modulePatienceMs / 1000;
      if (version === undefined)
        report('warn', `the toolset "${toolset.id}": setup is still running after ${seconds} s; the toolset is offered once it is done`);
      return version;
    } catch (error) {
      report('error', toolsetFault(toolset.id, 'setup', error));
      return undefined;
    }
  }

  /** Runs one load at a time. Requests during a load share a single next one, so that a folder that is being written to builds up no queue. */
  function reload(retriesBroken = true): Promise<void> {
    if (isClosed) return Promise.resolve();
    isNextRetrying ||= retriesBroken;
    next ??= oneAtATime(async () => {
      const isRetrying = isNextRetrying;
      [isNextRetrying, next] = [false, undefined];
      if (!isClosed) await loadOnce(isRetrying);
    });
    first ??= next;
    return next;
  }

  return {
    async registry() {
      await (first ?? reload());
      return registry;
    },
    async state() {
      await (first ?? reload());
      return { modules, registry, problems: Array.from(logged, ([message, level]) => ({ level, message })) };
    },
    reload,
    watch() {
      stopWatching ??= watchFolder(folder, (isChange) => {
        // While a slow load is running, polling does not queue another one.
        if (isChange || oneAtATime.activeCount + oneAtATime.pendingCount === 0) void reload(isChange);
      });
    },
    async close() {
      isClosed = true;
      opener.keepOnly(new Set());
      stopWatching?.();
      await oneAtATime(() => undefined);
      await Promise.all(Array.from(versions.values(), (version) => version.close()));
    },
  };
}

type Report = (level: 'warn' | 'error', message: string) => void;

function toolsetFault(id: string, method: 'setup' | 'close', error: unknown): string {
  return `the toolset "${id}": ${method} failed: ${messageOfThrown(error)}`;
}

function namesOf({ functions, toolsets }: NonNullable<FolderModule['loaded']>['offer']): string[] {
  return [...functions.map(({ name }) => name), ...toolsets.flatMap(({ id, tools }) => tools.map(({ name }) => `${id}/${name}`))];
}

/** Debounces changes: editors write in several steps, and a checkout changes many files. */
const settleMs = 100;
/** Polling finds what the watcher misses: changes in subfolders, container mounts, network drives and a recreated folder. */
const pollMs = 3_000;

/**
 * Calls `onCheck` shortly after something in the folder has changed (`isChange`), and every few seconds in case a change was not reported. Returns a
 * function that stops watching. Not recursive: on Linux Node.js then watches single files, and loses those that an editor replaces.
 */
function watchFolder(folder: string, onCheck: (isChange: boolean) => void): () => void {
  let debounce: NodeJS.Timeout | undefined;
  let watcher = startWatching();

  function startWatching(): FSWatcher | undefined {
    try {
      const started = watch(folder, { persistent: false }, () => {
        clearTimeout(debounce);
        debounce = setTimeout(onCheck, settleMs, true).unref();
      });
      // The folder is gone, or the system has no more watches: polling continues.
      started.on('error', () => {
        started.close();
        if (watcher === started) watcher = undefined;
      });
      return started;
    } catch {
      return undefined;
    }
  }

  const polling = setInterval(() => {
    watcher ??= startWatching();
    onCheck(false);
  }, pollMs).unref();
  return () => {
    clearInterval(polling);
    clearTimeout(debounce);
    watcher?.close();
  };
}
