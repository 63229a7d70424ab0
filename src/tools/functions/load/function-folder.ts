import { watch } from 'node:fs';
import type { FSWatcher } from 'node:fs';
import pLimit from 'p-limit';
import { limits } from '../../../core/limits.ts';
import type { Toolset } from '../define/function-definition.ts';
import { buildFunctionRegistry, emptyFunctionRegistry } from './function-registry.ts';
import type { FunctionRegistry, ToolsetSetting } from './function-registry.ts';
import type { ImportModule, LoadedModule } from './load-module.ts';
import { createToolsetOpener } from './open-toolset.ts';
import type { ToolsetVersion } from './open-toolset.ts';
import { readFolder } from './read-folder.ts';
import type { FolderModule } from './read-folder.ts';

/** What an operator should know. */
export interface FolderMessage {
  level: 'info' | 'warn' | 'error';
  message: string;
  functions?: string[];
}

export interface FunctionFolderOptions {
  folder: string;
  toolsets: readonly ToolsetSetting[];
  log: (message: FolderMessage) => void;
  /** Default: Node's own import. */
  load?: ImportModule;
}

/** The functions of `tools_dir`, as they are at the moment. */
export interface FunctionFolder {
  /** Waits for the first load alone; what it gives is never changed. */
  registry(): Promise<FunctionRegistry>;
  /** Resolves when what was found is on offer. `retriesBroken`: loads what is broken again though it is unchanged. */
  reload(retriesBroken?: boolean): Promise<void>;
  watch(): void;
  close(): Promise<void>;
}

export function createFunctionFolder({ folder, toolsets: settings, log, load }: FunctionFolderOptions): FunctionFolder {
  let modules: FolderModule[] = [];
  let versions = new Map<string, ToolsetVersion>();
  let registry: FunctionRegistry = emptyFunctionRegistry;
  const opener = createToolsetOpener({
    onReady: () => void reload(),
    onCloseFault: ({ id }, error) => log({ level: 'warn', message: toolsetFault(id, 'close', error) }),
  });
  const inTurn = pLimit(1);
  let next: Promise<void> | undefined;
  let isNextRetrying = false;
  let first: Promise<void> | undefined;
  let unwatch: (() => void) | undefined;
  let isClosed = false;
  let logged = new Set<string>();

  async function loadOnce(retriesBroken: boolean): Promise<void> {
    const problems = new Set<string>();
    // A problem that lasts is logged once, and again when it comes back.
    const complain: Complain = (level, message) => {
      if (!logged.has(message) && !problems.has(message)) log({ level, message });
      problems.add(message);
    };
    try {
      const reading = await readFolder(folder, modules, { retriesBroken, ...(load && { load }) });
      modules = reading.modules;
      for (const { problem, loaded, later } of modules) {
        const level = later === undefined ? 'error' : 'warn';
        if (problem !== undefined) complain(level, `${problem}${loaded === undefined ? '' : ' (its last good version stays in use)'}`);
      }
      for (const { later } of reading.changed) void later?.settled.then(() => reload());
      const opened = await openToolsets(complain);
      const replaced = [...versions.values()].filter((version) => opened.get(version.toolset.id) !== version);
      versions = opened;
      registry = buildFunctionRegistry(modules, { versions, settings, warn: (problem) => complain('warn', problem) });
      for (const version of replaced) version.retire();
      for (const { path, loaded, problem } of reading.changed)
        if (problem === undefined && loaded !== undefined)
          log({ level: 'info', message: `${path} is loaded`, functions: namesOf(loaded.offer) });
    } catch (error) {
      complain('error', `tools_dir: ${folder} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
    }
    logged = problems;
  }

  /** A set whose `setup` fails leaves the one before it in use; the next load tries again. */
  async function openToolsets(complain: Complain): Promise<Map<string, ToolsetVersion>> {
    const wanted = new Map<string, { toolset: Toolset; module: LoadedModule }>();
    for (const { path, loaded } of modules) {
      for (const toolset of loaded?.offer.toolsets ?? []) {
        if (loaded === undefined) continue;
        if (wanted.has(toolset.id))
          complain('error', `${path}: the toolset "${toolset.id}" replaces the one of another module; give one of them another id`);
        wanted.set(toolset.id, { toolset, module: loaded.module });
      }
    }
    opener.keepOnly(new Set(Array.from(wanted.values(), ({ toolset }) => toolset)));
    const opened = await Promise.all(
      Array.from(wanted, async ([id, { toolset, module }]): Promise<[string, ToolsetVersion][]> => {
        const before = versions.get(id);
        const version = before?.toolset === toolset ? before : ((await openOrComplain(toolset, module, complain)) ?? before);
        return version === undefined ? [] : [[id, version]];
      }),
    );
    return new Map(opened.flat());
  }

  async function openOrComplain(toolset: Toolset, module: LoadedModule, complain: Complain): Promise<ToolsetVersion | undefined> {
    try {
      const version = await opener.open(toolset, module);
      const seconds = limits.modulePatienceMs / 1000;
      if (version === undefined)
        complain('warn', `the toolset "${toolset.id}": setup is still under way after ${seconds} s; it joins the others when it is done`);
      return version;
    } catch (error) {
      complain('error', toolsetFault(toolset.id, 'setup', error));
      return undefined;
    }
  }

  /** One load at a time; those who ask meanwhile share one that begins after it, for a folder that is written to must not make a queue. */
  function reload(retriesBroken = true): Promise<void> {
    if (isClosed) return Promise.resolve();
    isNextRetrying ||= retriesBroken;
    next ??= inTurn(async () => {
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
    reload,
    watch() {
      unwatch ??= watchFolder(folder, (isChange) => {
        // A slow load is not queued behind itself.
        if (isChange || inTurn.activeCount + inTurn.pendingCount === 0) void reload(isChange);
      });
    },
    async close() {
      isClosed = true;
      opener.keepOnly(new Set());
      unwatch?.();
      await inTurn(() => undefined);
      await Promise.all(Array.from(versions.values(), (version) => version.close()));
    },
  };
}

type Complain = (level: 'warn' | 'error', message: string) => void;

function toolsetFault(id: string, method: 'setup' | 'close', error: unknown): string {
  return `the toolset "${id}": ${method} failed: ${error instanceof Error ? error.message : String(error)}`;
}

function namesOf({ functions, toolsets }: NonNullable<FolderModule['loaded']>['offer']): string[] {
  return [...functions.map(({ name }) => name), ...toolsets.flatMap(({ id, tools }) => tools.map(({ name }) => `${id}/${name}`))];
}

/** Editors write in several steps, and a checkout changes many files. */
const settleMs = 100;
/** Where changes are not reported: below the folder, in mounts of containers, on network drives, in a folder that was made anew. */
const pollMs = 3_000;

/**
 * Calls `look` a moment after something has changed in the folder (`isChange`), and every few seconds in case no change is reported. Gives the way to
 * end that. Not recursively: on Linux Node then watches single files, and loses those that an editor replaces.
 */
function watchFolder(folder: string, look: (isChange: boolean) => void): () => void {
  let settling: NodeJS.Timeout | undefined;
  let watcher = startWatching();

  function startWatching(): FSWatcher | undefined {
    try {
      const started = watch(folder, { persistent: false }, () => {
        clearTimeout(settling);
        settling = setTimeout(look, settleMs, true).unref();
      });
      // A folder that is gone, or no more watches to be had: polling goes on.
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
    look(false);
  }, pollMs).unref();
  return () => {
    clearInterval(polling);
    clearTimeout(settling);
    watcher?.close();
  };
}
