import { statSync } from 'node:fs';
import type { AppContext } from '../app-context.ts';
import { ConfigError, type Config } from '../config/config.ts';
import { RunHooks } from '../../chat/hooks/run-hooks.ts';
import type { NoteStore } from '../../core/stores/note-store.ts';
import type { Hook } from '../../core/tools/hooks.ts';
import { createFunctionStates } from '../../tools/functions/run/function-state.ts';
import { createFunctionFolder, type FolderState } from '../../tools/functions/load/function-folder.ts';
import { createFunctionSource } from '../../tools/functions/run/function-source.ts';
import { makeCallId } from '../../shared/text/call-ids.ts';
import { toHook, type HookServices } from '../../tools/functions/run/hook-module.ts';
import { importModule, loadModule, type ImportModule } from '../../tools/functions/load/load-module.ts';
import type { ToolSource } from '../../tools/definitions/tool-source.ts';

/** The operator's functions and hooks, which run in this process. */
export interface Extensions {
  sources: ToolSource[];
  hooks?: RunHooks;
  /** The loaded hooks and functions, for the doctor. */
  loaded(): Promise<{ hooks: readonly Hook[]; functions: FolderState | undefined }>;
  /** Loads the functions and starts watching their folder. */
  start(): void;
  /** Closes the toolsets. */
  close(): Promise<void>;
}

/**
 * Loads the hooks, which must all work, and opens the folder of functions, whose modules may fail.
 * @throws ConfigError for a hook that cannot be loaded, and for a folder that does not exist
 */
export async function composeExtensions(
  { config: { modules }, logger, now }: AppContext,
  { store, load = importModule, onChanged }: { store: NoteStore; load: ImportModule | undefined; onChanged: () => void },
): Promise<Extensions> {
  const states = createFunctionStates({
    store,
    now,
    onFault: (error) => logger.error({ err: error }, 'the state of functions cannot be stored or read at the moment'),
  });
  const hookServices: HookServices = { states, newCallId: makeCallId };
  const opened = await Promise.all(modules.hooks.map((entry) => openHook(entry, load, hookServices)));
  const runHooks = new RunHooks(opened, ({ hook, runId, error }) => logger.error({ err: error, hook, run_id: runId }, 'a hook failed'));
  const hooks = opened.length === 0 ? {} : { hooks: runHooks };
  const path = modules.toolsDir;
  const loaded: Extensions['loaded'] = async () => ({ hooks: opened, functions: undefined });
  if (path === undefined) return { sources: [], ...hooks, loaded, start: () => undefined, close: () => Promise.resolve() };
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new ConfigError(`tools_dir: the folder ${path} does not exist; create it, or correct the path.`);
  const folder = createFunctionFolder({
    folder: path,
    toolsets: modules.toolsets,
    log: ({ level, message, functions }) => logger[level]({ ...(functions && { functions }) }, message),
    load,
    onChanged,
  });
  const source = createFunctionSource({
    folder,
    path,
    states,
    onFault: (id, error) => logger.warn({ err: error, tool: id }, 'isEnabled of a function failed; the function is not offered'),
  });
  return {
    sources: [source],
    ...hooks,
    loaded: async () => ({ hooks: opened, functions: await folder.state() }),
    start() {
      void folder.reload();
      folder.watch();
    },
    close: () => folder.close(),
  };
}

async function openHook(entry: Config['modules']['hooks'][number], load: ImportModule, services: HookServices): Promise<Hook> {
  try {
    return toHook(entry, (await loadModule(entry.path, { load })).exports, services);
  } catch (error) {
    throw new ConfigError(`hooks: ${error instanceof Error ? error.message : String(error)}; correct it, or remove it from hooks.`);
  }
}
