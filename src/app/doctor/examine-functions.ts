import { statSync } from 'node:fs';
import { basename } from 'node:path';
import type { Config } from '../config/config.ts';
import type { Hook } from '../../core/tools/hooks.ts';
import { broken, count, note, ok } from './finding.ts';
import type { Finding } from '../../core/finding.ts';
import { buildFunctionRegistry, emptyFunctionRegistry, type FunctionRegistry } from '../../tools/functions/load/function-registry.ts';
import type { FolderState } from '../../tools/functions/load/function-folder.ts';
import { createFunctionStates } from '../../tools/functions/run/function-state.ts';
import { toHook } from '../../tools/functions/run/hook-module.ts';
import { importModule, loadModule, type ImportModule } from '../../tools/functions/load/load-module.ts';
import { readFolder, type FolderModule } from '../../tools/functions/load/read-folder.ts';
import type { ToolsetVersion } from '../../tools/functions/load/open-toolset.ts';

/** Function names of one module that the report lists. */
const shownNames = 10;

export interface FunctionExamination {
  findings: Finding[];
  /** Undefined if they could not be examined. */
  functions: FunctionRegistry | undefined;
}

/**
 * Whether the modules of `tools_dir` and the hooks can be loaded, and what they offer. Loading runs their top-level code, as at a start; toolsets are
 * not set up, because that would open connections.
 */
export async function examineFunctions(
  { modules }: Pick<Config, 'modules'>,
  load: ImportModule = importModule,
): Promise<FunctionExamination> {
  const hooks = await Promise.all(modules.hooks.map((entry) => examineHook(entry, load)));
  const { toolsDir, toolsets } = modules;
  const without = (...findings: Finding[]): FunctionExamination => ({
    findings: [...findings, ...hooks],
    functions: emptyFunctionRegistry,
  });
  if (toolsDir === undefined) return without();
  if (statSync(toolsDir, { throwIfNoEntry: false })?.isDirectory() !== true)
    return without(
      broken(`tools_dir: the folder ${toolsDir} does not exist, so the gateway does not start`, 'Create it, or correct the path.'),
    );
  const warnings: Finding[] = [];
  const warn = (text: string): void => void warnings.push({ level: 'warning', text });
  try {
    const { modules: found } = await readFolder(toolsDir, [], { load, retriesBroken: false });
    const loaded = await Promise.all(found.map(untilLoaded));
    const functions = buildFunctionRegistry(loaded, { versions: versionsOf(loaded), settings: toolsets, warn });
    const none = loaded.length === 0 ? [note(`tools_dir: ${toolsDir} holds no module yet`)] : [];
    return { findings: [...none, ...loaded.map(describeModule), ...warnings, ...hooks], functions };
  } catch (error) {
    const text = `tools_dir: ${toolsDir} cannot be read: ${error instanceof Error ? error.message : String(error)}`;
    return without(broken(text, 'Correct the path, or the permissions of the folder.'));
  }
}

/** What a gateway that runs has loaded. Nothing is loaded again: that would run its top-level code once more, and Node.js never unloads a module. */
export function describeLoaded({ hooks, functions }: { hooks: readonly Hook[]; functions: FolderState | undefined }): FunctionExamination {
  const described = hooks.map(describeHook);
  if (functions === undefined) return { findings: described, functions: emptyFunctionRegistry };
  const { modules, problems, registry } = functions;
  const sound = modules.filter(({ problem, loaded }) => problem === undefined && loaded !== undefined).map(describeModule);
  const faults = problems.map(({ level, message }) =>
    level === 'error' ? broken(message, 'Correct the file; it is reloaded automatically.') : { level: 'warning' as const, text: message },
  );
  return { findings: [...sound, ...faults, ...described], functions: registry };
}

async function untilLoaded(module: FolderModule): Promise<FolderModule> {
  await module.later?.settled;
  return module.later?.module ?? module;
}

function versionsOf(modules: readonly FolderModule[]): Map<string, ToolsetVersion> {
  const still = { hold: () => () => undefined, retire: () => undefined, close: () => Promise.resolve() };
  const all = modules.flatMap(({ loaded }) => (loaded?.offer.toolsets ?? []).map((toolset) => ({ toolset, module: loaded?.module })));
  return new Map(all.flatMap(({ toolset, module }) => (module === undefined ? [] : [[toolset.id, { toolset, module, ...still }]])));
}

function describeModule({ path, loaded, problem }: FolderModule): Finding {
  if (loaded === undefined) return broken(problem ?? path, 'Correct the file; a running gateway reloads it automatically.');
  const { functions, toolsets } = loaded.offer;
  const names = [...functions.map(({ name }) => name), ...toolsets.flatMap(({ id, tools }) => tools.map(({ name }) => `${id}/${name}`))];
  const more = names.length > shownNames ? `, and ${names.length - shownNames} more` : '';
  return ok(`${basename(path)}: ${count(names.length, 'function')} (${names.slice(0, shownNames).join(', ')}${more})`);
}

function describeHook({ name, timeoutMs: _timeoutMs, onFailure, presets, ...functions }: Hook): Finding {
  const where = presets === undefined ? '' : `, for ${presets.join(', ')}`;
  return ok(`hook ${name}: ${Object.keys(functions).join(', ')}${where}; when it fails: ${onFailure}`);
}

async function examineHook(entry: Config['modules']['hooks'][number], load: ImportModule): Promise<Finding> {
  try {
    return describeHook(
      toHook(entry, (await loadModule(entry.path, { load })).exports, { states: createFunctionStates(), newCallId: () => 'call' }),
    );
  } catch (error) {
    const text = `hook ${entry.name}: ${error instanceof Error ? error.message : String(error)}`;
    return broken(text, 'The gateway does not start without it: correct it, or remove it from hooks.');
  }
}
