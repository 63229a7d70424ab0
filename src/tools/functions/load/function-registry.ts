import { forbiddenToolId, unknownToolId } from '../../definitions/tool-ids.ts';
import type { FunctionTool } from '../define/function-definition.ts';
import type { LoadedModule } from './load-module.ts';
import type { FolderModule } from './read-folder.ts';
import type { ToolsetVersion } from './open-toolset.ts';

/** A toolset of the configuration: a bundle of functions, or a switch for a toolset that a module defines. */
export interface ToolsetSetting {
  id: string;
  /** Names of functions; absent if a module defines the toolset. */
  tools?: readonly string[];
  isEnabled: boolean;
  /** Undefined: the module decides. */
  isDefault: boolean | undefined;
}

/** A function that can be chosen by `tool_ids`. */
export interface RegisteredFunction {
  definition: FunctionTool;
  /** The entry of `tool_ids` that selects just this function: `function:<name>`, or `toolset:<id>/<name>`. */
  id: string;
  /** The name under which its results are cited. */
  label: string;
  server: string;
  /** Ids of the toolsets that contain it. */
  toolsets: ReadonlySet<string>;
  isDefault: boolean;
  module: LoadedModule;
  /** The toolset that must stay open while the function is used. */
  version: ToolsetVersion | undefined;
}

/** An immutable snapshot of the functions that can be offered. */
export interface FunctionRegistry {
  functions: readonly RegisteredFunction[];
  /** By toolset id: whether it is switched on. */
  toolsets: ReadonlyMap<string, boolean>;
}

export const emptyFunctionRegistry: FunctionRegistry = { functions: [], toolsets: new Map() };

interface RegistryOptions {
  /** The toolsets that were set up, by id. */
  versions: ReadonlyMap<string, ToolsetVersion>;
  settings: readonly ToolsetSetting[];
  warn: (problem: string) => void;
}

/** Combines the functions of all modules with the configuration. If two have the same name or id, the last one wins, with a warning. */
export function buildFunctionRegistry(modules: readonly FolderModule[], { versions, settings, warn }: RegistryOptions): FunctionRegistry {
  const singles = new Map<string, RegisteredFunction>();
  for (const { path, loaded } of modules) {
    for (const definition of loaded?.offer.functions ?? []) {
      if (loaded === undefined) continue;
      const { name } = definition;
      if (singles.has(name)) warn(`${path}: the function "${name}" replaces the one of another module; rename one of them`);
      singles.set(name, toSingle(definition, loaded.module));
    }
  }
  const settingOf = new Map(settings.map((setting) => [setting.id, setting]));
  const bundled = [...versions.values()].flatMap((version) => bundle(version, settingOf.get(version.toolset.id)));
  const toolsets = new Map(Array.from(versions.keys(), (id) => [id, settingOf.get(id)?.isEnabled ?? true]));
  return bundleByConfiguration({ functions: [...singles.values(), ...bundled], toolsets }, settings, warn);
}

function toSingle(definition: FunctionTool, module: LoadedModule): RegisteredFunction {
  const { name, options } = definition;
  const isDefault = options.default ?? true;
  // Functions outside of a toolset are cited under this server name.
  const server = 'functions';
  return { definition, id: `function:${name}`, label: name, server, toolsets: new Set(), isDefault, module, version: undefined };
}

function bundle(version: ToolsetVersion, setting: ToolsetSetting | undefined): RegisteredFunction[] {
  const { toolset, module } = version;
  const { id: server } = toolset;
  const isDefault = setting?.isDefault ?? toolset.default ?? true;
  return toolset.tools.map((definition) => ({
    definition,
    id: `toolset:${server}/${definition.name}`,
    label: `${server}/${definition.name}`,
    server,
    toolsets: new Set([server]),
    isDefault: isDefault && definition.options.default !== false,
    module,
    version,
  }));
}

/** A function that the configuration puts into toolsets is a default if one of them is. */
function bundleByConfiguration(
  { functions, toolsets: known }: FunctionRegistry,
  settings: readonly ToolsetSetting[],
  warn: (problem: string) => void,
): FunctionRegistry {
  const toolsets = new Map(known);
  const settingsOf = new Map<RegisteredFunction, ToolsetSetting[]>();
  for (const setting of settings) {
    if (setting.tools === undefined && !known.has(setting.id))
      warn(`toolsets: no module defines "${setting.id}"; correct the id, or list its tools`);
    if (setting.tools === undefined) continue;
    toolsets.set(setting.id, setting.isEnabled);
    for (const name of setting.tools) {
      const entry = functions.find(({ definition, id }) => definition.name === name || id === name);
      if (entry === undefined) warn(`toolsets: "${setting.id}" names the function "${name}", which no module defines`);
      else settingsOf.set(entry, [...(settingsOf.get(entry) ?? []), setting]);
    }
  }
  const bundled = functions.map((entry): RegisteredFunction => {
    const memberships = settingsOf.get(entry);
    if (memberships === undefined) return entry;
    const isDefaultByToolset = memberships.some(({ isEnabled, isDefault = true }) => isEnabled && isDefault);
    const isDefault = isDefaultByToolset || (entry.toolsets.size > 0 && entry.isDefault);
    return { ...entry, toolsets: new Set([...entry.toolsets, ...memberships.map(({ id }) => id)]), isDefault };
  });
  return { functions: bundled, toolsets };
}

/** A function in toolsets is on if at least one of them is switched on. */
export function isSwitchedOn({ toolsets }: RegisteredFunction, registry: FunctionRegistry): boolean {
  return toolsets.size === 0 || [...toolsets].some((id) => registry.toolsets.get(id) === true);
}

interface ChosenFunctions {
  chosen: RegisteredFunction[];
  /** Those that were selected by an entry of their own, not through their toolset. */
  named: ReadonlySet<RegisteredFunction>;
}

/**
 * Reads the `tool_ids` entries `function:<name>`, `toolset:<id>` and `toolset:<id>/<name>`. Undefined: the defaults. `allowed`: the entries that the
 * caller's key is restricted to; undefined: unrestricted.
 * @throws GatewayError `unknown_tool_id`, naming the known ids; `forbidden` for what the key does not allow
 */
export function chooseFunctions(
  toolIds: readonly string[] | undefined,
  registry: FunctionRegistry,
  allowed: readonly string[] | undefined,
): ChosenFunctions {
  const permitted = permittedFunctions(registry, allowed);
  if (toolIds === undefined) return { chosen: permitted.filter((entry) => entry.isDefault), named: new Set() };
  const chosen = new Set<RegisteredFunction>();
  const named = new Set<RegisteredFunction>();
  for (const toolId of toolIds) {
    const matching = findFunctions(toolId, registry);
    const usable = matching.filter((entry) => permitted.includes(entry));
    // Do not reveal to a restricted key whether such a function exists.
    if (usable.length === 0 && allowed !== undefined && !allowed.includes(toolId)) throw forbiddenToolId(toolId, allowed);
    const toolset = /^toolset:(?<id>[^/]*)$/.exec(toolId)?.groups?.['id'];
    // A toolset without functions is a known id too.
    if (matching.length === 0 && (toolset === undefined || !registry.toolsets.has(toolset)))
      throw unknownToolId(
        toolId,
        'Known functions',
        permitted.map(({ id }) => id),
      );
    for (const entry of usable) {
      chosen.add(entry);
      if (toolset === undefined) named.add(entry);
    }
  }
  return { chosen: [...chosen], named };
}

export function permittedFunctions(registry: FunctionRegistry, allowed: readonly string[] | undefined): readonly RegisteredFunction[] {
  if (allowed === undefined) return registry.functions;
  const permitted = new Set(allowed.flatMap((toolId) => findFunctions(toolId, registry)));
  return registry.functions.filter((entry) => permitted.has(entry));
}

function findFunctions(toolId: string, { functions }: FunctionRegistry): readonly RegisteredFunction[] {
  const { name, set, member } = /^(?:function:(?<name>.+)|toolset:(?<set>[a-z0-9_-]+)(?:\/(?<member>.+))?)$/.exec(toolId)?.groups ?? {};
  if (set !== undefined)
    return functions.filter(({ toolsets, definition }) => toolsets.has(set) && (member === undefined || definition.name === member));
  const single = functions.filter((entry) => entry.id === toolId);
  return single.length > 0 || name === undefined ? single : functions.filter(({ definition }) => definition.name === name);
}
