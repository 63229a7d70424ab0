import { GatewayError } from '../../../core/errors.ts';
import type { FunctionRegistry, RegisteredFunction } from '../load/function-registry.ts';

/** Ids that an error message lists; more would bury its point. */
const maxListedIds = 20;

export interface ChosenFunctions {
  chosen: RegisteredFunction[];
  /** Those that an entry names alone. */
  named: ReadonlySet<RegisteredFunction>;
}

/**
 * Reads the entries `function:<name>`, `toolset:<id>` and `toolset:<id>/<name>`. Undefined: the defaults.
 * `allowed`: what the caller's key is limited to, entries as in `tool_ids`; undefined: everything.
 * @throws GatewayError `unknown_tool_id`, naming the known ids; `forbidden` for what the key does not allow
 */
export function chooseFunctions(
  toolIds: readonly string[] | undefined,
  shelf: FunctionRegistry,
  allowed: readonly string[] | undefined,
): ChosenFunctions {
  const inReach = new Set(functionsInReach(shelf, allowed));
  if (toolIds === undefined) return { chosen: [...inReach].filter((entry) => entry.isDefault), named: new Set() };
  const chosen = new Set<RegisteredFunction>();
  const named = new Set<RegisteredFunction>();
  for (const toolId of toolIds) {
    const meant = meantBy(toolId, shelf);
    const mine = meant.filter((entry) => inReach.has(entry));
    // Whether there is such a function is nothing that a limited key should learn.
    if (mine.length === 0 && allowed !== undefined && !allowed.includes(toolId)) throw forbidden(toolId, allowed);
    if (meant.length === 0 && !isKnownToolset(toolId, shelf)) throw unknown(toolId, [...inReach]);
    for (const entry of mine) {
      chosen.add(entry);
      if (!isWholeToolset(toolId)) named.add(entry);
    }
  }
  return { chosen: [...chosen], named };
}

export function functionsInReach(shelf: FunctionRegistry, allowed: readonly string[] | undefined): RegisteredFunction[] {
  if (allowed === undefined) return [...shelf.functions];
  const reach = new Set(allowed.flatMap((toolId) => meantBy(toolId, shelf)));
  return shelf.functions.filter((entry) => reach.has(entry));
}

function meantBy(toolId: string, { functions }: FunctionRegistry): RegisteredFunction[] {
  const { name, set, member } = /^(?:function:(?<name>.+)|toolset:(?<set>[a-z0-9_-]+)(?:\/(?<member>.+))?)$/.exec(toolId)?.groups ?? {};
  if (name !== undefined) {
    const alone = functions.filter((entry) => entry.id === toolId);
    return alone.length > 0 ? alone : functions.filter(({ definition }) => definition.name === name);
  }
  if (set === undefined) return [];
  return functions.filter(({ toolsets, definition }) => toolsets.has(set) && (member === undefined || definition.name === member));
}

function isWholeToolset(toolId: string): boolean {
  return toolId.startsWith('toolset:') && !toolId.includes('/');
}

/** One without functions is known all the same. */
function isKnownToolset(toolId: string, { toolsets }: FunctionRegistry): boolean {
  return isWholeToolset(toolId) && toolsets.has(toolId.slice('toolset:'.length));
}

function forbidden(toolId: string, allowed: readonly string[]): GatewayError {
  const message = `tool_ids: this key may not use "${toolId.slice(0, 100)}". It may use: ${listed(allowed)}.`;
  return new GatewayError('forbidden', message, { param: 'tool_ids' });
}

function unknown(toolId: string, known: readonly RegisteredFunction[]): GatewayError {
  const ids = listed(known.map(({ id }) => id));
  return new GatewayError('unknown_tool_id', `tool_ids: "${toolId.slice(0, 100)}" is not known. Known functions are: ${ids}.`, {
    param: 'tool_ids',
  });
}

function listed(ids: readonly string[]): string {
  if (ids.length === 0) return 'none';
  const rest = ids.length - maxListedIds;
  return rest > 0 ? `${ids.slice(0, maxListedIds).join(', ')} and ${rest} more` : ids.join(', ');
}
