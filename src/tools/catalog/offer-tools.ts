import { limits } from '../../core/limits.ts';
import type { Tool, ToolOffer, ToolSpec } from '../../core/tool.ts';
import { createFindTools } from './find-tools.ts';
import { clashReason, possibleNames, uniqueNames } from './name-functions.ts';
import type { NamedEntry } from './name-functions.ts';
import type { FunctionSearch } from './search-functions.ts';
import type { Candidate, Warning } from './tool-source.ts';

export interface OfferOptions {
  /** In order of precedence: a clash renames the function of the later group. */
  groups: readonly (readonly Candidate[])[];
  /** Names of the caller's own tools; they count towards the limit. */
  callerNames: readonly string[];
  /** What the conversation is about, for the choice among too many functions. */
  query?: string;
  /** Searches a list of functions; absent: the first ones are taken. */
  searchIn?: (specs: readonly ToolSpec[]) => Promise<FunctionSearch>;
}

interface Named {
  candidate: Candidate;
  tool: Tool;
}

/** A name for every candidate; a clash renames the one of the later group. Adds the names to `taken`. */
export function* nameInGroups(groups: OfferOptions['groups'], taken: Set<string>): Generator<NamedEntry<Candidate>> {
  for (const group of groups) {
    const wishes = group.map((entry) => ({ wanted: entry.wanted, key: entry.key, whenTaken: entry.whenTaken, entry }));
    const named = uniqueNames(wishes, taken);
    for (const { name } of named) taken.add(name);
    yield* named;
  }
}

/**
 * Gives every candidate its name. When all together are more than a model can hold (`limits.offeredFunctions`, `limits.offeredTokens`), the ones that the
 * request names and those that fit the conversation best are offered, and the others are deferred: `finder` finds them.
 */
export async function offerTools({ groups, callerNames, query = '', searchIn }: OfferOptions): Promise<ToolOffer> {
  const named: Named[] = [];
  const taken = new Set(callerNames);
  const renames: Rename[] = [];
  for (const { name, entry, renamed } of nameInGroups(groups, taken)) {
    const made = entry.toTool(name);
    const tool = made.otherNames === undefined ? withNames(made, entry) : made;
    named.push({ candidate: entry, tool });
    if (renamed !== undefined) renames.push({ ...renamed, server: tool.server });
  }
  const warnings = renamedWarnings(renames);
  const room = Math.max(0, limits.offeredFunctions - callerNames.length);
  if (named.length <= room && tokensOf(named) <= limits.offeredTokens) return { tools: byName(named), warnings };

  const search = await searchIn?.(named.map(({ candidate, tool }) => candidate.spec ?? tool.spec));
  // One of them is the finder.
  const chosen = chooseWithin(named, search?.(query, named.length) ?? [], room - 1);
  const offered = named.filter((entry) => chosen.has(entry));
  warnings.push(tooManyWarning(named.length, offered.length));
  if (search === undefined) return { tools: byName(offered), warnings };
  const tool = createFindTools(finderName(taken), { tools: named.map((entry) => entry.tool), search });
  return { tools: byName(offered), warnings, finder: { tool, deferred: byName(named) } };
}

/** Whatever it is called in this offer, it is still the function of its own name, and of the one by which another offer shows it. */
export function withNames(tool: Tool, candidate: Omit<Candidate, 'toTool'>): Tool {
  const { wanted, id, otherNames = [] } = candidate;
  return { ...tool, otherNames: [wanted, id ?? `server:${tool.label}`, ...otherNames, ...possibleNames(candidate)] };
}

/** In the order: named by the request, best match, then evenly from the front of every server. */
function chooseWithin(named: readonly Named[], ranked: readonly number[], room: number): Set<Named> {
  const requested = named.filter(({ candidate }) => candidate.isNamed === true);
  const matching = ranked.flatMap((position) => named[position] ?? []).slice(0, limits.chosenFunctions);
  const order = [...new Set([...requested, ...matching, ...fromEachServer(named)])];
  const chosen = new Set<Named>();
  let tokens = 0;
  for (const entry of order) {
    if (chosen.size >= (entry.candidate.isNamed === true ? room : Math.min(room, limits.chosenFunctions))) break;
    const cost = costOf(entry);
    // A large one costs itself, not the smaller ones after it.
    if (tokens + cost > limits.offeredTokens) continue;
    tokens += cost;
    chosen.add(entry);
  }
  return chosen;
}

/** So that a question which matches nothing still meets something of every server. */
function fromEachServer(named: readonly Named[]): Named[] {
  const counts = new Map<string, number>();
  const ranks = named.map(({ tool: { server } }) => {
    const rank = counts.get(server) ?? 0;
    counts.set(server, rank + 1);
    return rank;
  });
  return named
    .map((entry, index) => ({ entry, rank: ranks[index] ?? 0 }))
    .toSorted((left, right) => left.rank - right.rank)
    .map(({ entry }) => entry);
}

function tokensOf(named: readonly Named[]): number {
  return named.reduce((sum, entry) => sum + costOf(entry), 0);
}

/** By the spec that lasts: one under a new name is made for each request. */
function costOf({ candidate, tool }: Named): number {
  return estimateFunctionTokens(candidate.spec ?? tool.spec);
}

const charactersPerToken = 4;
/** Every chat needs it of every function again. */
const estimates = new WeakMap<ToolSpec, number>();

/**
 * The size of a function as a model reads it, estimated at four characters a token: tokenizers differ by more than this is wrong.
 */
export function estimateFunctionTokens(spec: ToolSpec): number {
  const known = estimates.get(spec);
  if (known !== undefined) return known;
  const { name, description, parameters } = spec;
  const text = JSON.stringify({ type: 'function', function: { name, description, parameters } });
  const tokens = Math.ceil(text.length / charactersPerToken);
  estimates.set(spec, tokens);
  return tokens;
}

function byName(named: readonly Named[]): Map<string, Tool> {
  return new Map(named.map(({ tool }) => [tool.spec.name, tool]));
}

function finderName(taken: ReadonlySet<string>): string {
  for (let count = 1; ; count += 1) {
    const name = count === 1 ? 'find_tools' : `find_tools_${count}`;
    if (!taken.has(name)) return name;
  }
}

interface Rename {
  server: string;
  from: string;
  to: string;
  reason: string;
}

/** One for each server and reason: a server that is there twice clashes in every function. */
function renamedWarnings(renames: readonly Rename[]): Warning[] {
  const groups = Map.groupBy(renames, ({ server, reason }) => `${server}\n${reason}`);
  return [...groups.values()].map((group) => ({ code: 'function_renamed', message: renamedMessage(group) }));
}

function renamedMessage(group: readonly Rename[]): string {
  const [{ server, from, to, reason } = { server: '', from: '', to: '', reason: '' }] = group;
  if (group.length === 1) return `The function "${from}" of ${server} is offered as "${to}": ${reason}.`;
  const reasons = reason === clashReason ? 'other functions have their names' : reason;
  const names = group.slice(0, listedNames).map((rename) => `"${rename.from}" as "${rename.to}"`);
  return `${group.length} functions of ${server} are offered under other names (${reasons}): ${names.join(', ')}${andMore(group.length)}.`;
}

/** Names that a warning shows; more would bury its point. */
const listedNames = 5;

export function listNames(names: readonly string[]): string {
  const shown = names.slice(0, listedNames).map((name) => `"${name.slice(0, 100)}"`);
  return `${shown.join(', ')}${andMore(names.length)}`;
}

function andMore(count: number): string {
  return count > listedNames ? ` and ${count - listedNames} more` : '';
}

function tooManyWarning(wanted: number, offered: number): Warning {
  return {
    code: 'functions_left_out',
    message:
      `${offered} of ${wanted} functions are offered, those that fit the conversation best; the model can search the others. ` +
      'To choose them yourself, use tool_ids ("server:<id>" or "server:<id>/<function>").',
  };
}
