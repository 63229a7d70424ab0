import type { FunctionTool } from '../define/function-definition.ts';
import type { LoadedModule } from './load-module.ts';
import type { FolderModule } from './read-folder.ts';
import type { ToolsetVersion } from './toolset-version.ts';

/** A toolset of the configuration: another bundle of the folder's functions, or a switch of one that a module defines. */
export interface ToolsetSetting {
  id: string;
  /** Names of functions; absent: the set is defined by a module. */
  tools?: readonly string[];
  isEnabled: boolean;
  /** Undefined: as the module says. */
  isDefault: boolean | undefined;
}

/** A function as it can be chosen. */
export interface RegisteredFunction {
  definition: FunctionTool;
  /** Of the entry that names it alone: `function:<name>`, or `toolset:<id>/<name>`. */
  id: string;
  /** Under which its results are cited. */
  label: string;
  server: string;
  /** Ids of the toolsets that hold it. */
  toolsets: ReadonlySet<string>;
  isDefault: boolean;
  module: LoadedModule;
  /** What has to stay open while it is used. */
  version: ToolsetVersion | undefined;
}

/** What can be offered, at one moment; never changed afterwards. */
export interface FunctionRegistry {
  functions: readonly RegisteredFunction[];
  /** Of every toolset, with whether it is switched on. */
  toolsets: ReadonlyMap<string, boolean>;
}

export const emptyFunctionRegistry: FunctionRegistry = { functions: [], toolsets: new Map() };

/** Functions that stand in no toolset cite their source under this server. */
const ownServer = 'functions';

/**
 * Puts what the modules offer in order. What has an id that is taken replaces it, so that the last one wins, and `tell` says so.
 * `versions`: of the toolsets that were set up, by id.
 */
export function buildFunctionRegistry(
  modules: readonly FolderModule[],
  {
    versions,
    settings,
    tell,
  }: { versions: ReadonlyMap<string, ToolsetVersion>; settings: readonly ToolsetSetting[]; tell: (problem: string) => void },
): FunctionRegistry {
  const settingOf = new Map(settings.map((setting) => [setting.id, setting]));
  const singles = new Map<string, RegisteredFunction>();
  const bundled: RegisteredFunction[] = [];
  const toolsets = new Map<string, boolean>();
  for (const { path, loaded } of modules) {
    if (loaded === undefined) continue;
    for (const definition of loaded.offer.functions) {
      const { name, options } = definition;
      if (singles.has(name)) tell(`${path}: the function "${name}" replaces the one of another module; give one of them another name`);
      const isDefault = options.default ?? true;
      singles.set(name, {
        definition,
        id: `function:${name}`,
        label: name,
        server: ownServer,
        toolsets: new Set(),
        isDefault,
        module: loaded.module,
        version: undefined,
      });
    }
  }
  for (const version of versions.values()) {
    const { toolset, module } = version;
    const { id } = toolset;
    const setting = settingOf.get(id);
    toolsets.set(id, setting?.isEnabled ?? true);
    const isDefault = setting?.isDefault ?? toolset.default ?? true;
    const toEntry = (definition: FunctionTool): RegisteredFunction => ({
      definition,
      id: `toolset:${id}/${definition.name}`,
      label: `${id}/${definition.name}`,
      server: id,
      toolsets: new Set([id]),
      isDefault: isDefault && definition.options.default !== false,
      module,
      version,
    });
    bundled.push(...toolset.tools.map(toEntry));
  }
  return bundleByConfiguration({ functions: [...singles.values(), ...bundled], toolsets }, settings, tell);
}

/** A function that the configuration puts into toolsets is a default when one of them is. */
function bundleByConfiguration(
  shelf: FunctionRegistry,
  settings: readonly ToolsetSetting[],
  tell: (problem: string) => void,
): FunctionRegistry {
  const toolsets = new Map(shelf.toolsets);
  const found = new Map<RegisteredFunction, ToolsetSetting[]>();
  for (const setting of settings) {
    if (setting.tools === undefined) {
      if (!toolsets.has(setting.id)) tell(`toolsets: no module defines "${setting.id}"; correct the id, or list its tools`);
      continue;
    }
    toolsets.set(setting.id, setting.isEnabled);
    for (const name of setting.tools) {
      const entry = shelf.functions.find(({ definition, id }) => definition.name === name || id === name);
      if (entry === undefined) tell(`toolsets: "${setting.id}" names the function "${name}", which no module defines`);
      else found.set(entry, [...(found.get(entry) ?? []), setting]);
    }
  }
  const functions = shelf.functions.map((entry) => {
    const holders = found.get(entry) ?? [];
    if (holders.length === 0) return entry;
    const isDefault =
      holders.some((setting) => setting.isEnabled && (setting.isDefault ?? true)) || (entry.toolsets.size > 0 && entry.isDefault);
    return { ...entry, toolsets: new Set([...entry.toolsets, ...holders.map(({ id }) => id)]), isDefault };
  });
  return { functions, toolsets };
}

/** A function in toolsets is there when one of them is switched on. */
export function isSwitchedOn({ toolsets }: RegisteredFunction, shelf: FunctionRegistry): boolean {
  return toolsets.size === 0 || [...toolsets].some((id) => shelf.toolsets.get(id) === true);
}
