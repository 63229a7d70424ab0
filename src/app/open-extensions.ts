import { statSync } from 'node:fs';
import type { Config } from './config/config.ts';
import { ConfigError } from './config/config.ts';
import { createRunHooks } from '../chat/hooks/run-hooks.ts';
import type { RunHooks } from '../chat/hooks/run-hooks.ts';
import type { ChatMemories } from '../core/chat-memory.ts';
import type { Hook } from '../core/hooks.ts';
import { createChatStates } from '../tools/functions/run/chat-state.ts';
import { createFunctionFolder } from '../tools/functions/load/function-folder.ts';
import type { FunctionFolder } from '../tools/functions/load/function-folder.ts';
import { createFunctionSource } from '../tools/functions/run/function-source.ts';
import { toHook } from '../tools/functions/run/hook-module.ts';
import { importModule, loadModule } from '../tools/functions/load/load-module.ts';
import type { ImportModule } from '../tools/functions/load/load-module.ts';
import type { ToolSource } from '../tools/catalog/tool-source.ts';

/** The part of a log that is needed here. */
export interface ExtensionLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** The operator's own code in this process. */
export interface Extensions {
  sources: ToolSource[];
  hooks?: RunHooks;
  /** Looks for changes from now on. */
  start(): void;
  /** Closes what is open: toolsets are told. */
  close(): Promise<void>;
  /** For tests that do not wait for the file system. */
  folder?: FunctionFolder;
}

export interface ExtensionParts {
  logger: ExtensionLog;
  newId: () => string;
  importModule?: ImportModule;
  /** Default: what functions remember ends with this process. */
  chatMemory?: Partial<ChatMemories>;
  /** Milliseconds since 1970. */
  now?: () => number;
}

/**
 * Loads hooks, without which nothing may run, and opens the folder of functions, whose modules may be broken.
 * @throws ConfigError for a hook that cannot be loaded, and for a folder that is not there
 */
export async function openExtensions({ modules }: Pick<Config, 'modules'>, parts: ExtensionParts): Promise<Extensions> {
  const { logger, now = Date.now } = parts;
  const memory = parts.chatMemory?.state;
  const hooks = await Promise.all(modules.hooks.map((entry) => openHook(entry, parts)));
  const runHooks = createRunHooks(hooks, ({ hook, runId, error }) => logger.error({ err: error, hook, run_id: runId }, 'a hook failed'));
  const withHooks = hooks.length === 0 ? {} : { hooks: runHooks };
  const path = modules.toolsDir;
  if (path === undefined) return { sources: [], ...withHooks, start: () => undefined, close: () => Promise.resolve() };
  requireFolder(path);
  const folder = createFunctionFolder({
    folder: path,
    toolsets: modules.toolsets,
    log: ({ level, message, functions }) => logger[level]({ ...(functions && { functions }) }, message),
    ...(parts.importModule && { load: parts.importModule }),
  });
  const source = createFunctionSource({
    folder,
    path,
    states: createChatStates(
      memory && { memory, now, onFault: (error) => logger.error({ err: error }, 'the state of functions cannot be kept or read just now') },
    ),
    onFault: (id, error) => logger.warn({ err: error, tool: id }, 'isEnabled of a function failed; the function is not offered'),
  });
  return {
    sources: [source],
    ...withHooks,
    start() {
      void folder.reload();
      folder.watch();
    },
    close: () => folder.close(),
    folder,
  };
}

async function openHook(
  entry: Config['modules']['hooks'][number],
  { newId, importModule: load = importModule }: ExtensionParts,
): Promise<Hook> {
  try {
    const { exports } = await loadModule(entry.path, { load });
    return toHook(entry, exports, () => `call_${newId()}`);
  } catch (error) {
    throw new ConfigError(`hooks: ${error instanceof Error ? error.message : String(error)}; correct it, or take it out of hooks.`);
  }
}

function requireFolder(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return;
  throw new ConfigError(`tools_dir: there is no folder ${path}; create it, or correct the path.`);
}
