import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Tool, ToolOffer, ToolSpec } from '../../core/tools/tool.ts';
import { cutAhead, cutTool, functionTokens } from './cut/cut-spec.ts';
import { createDescribeFunction } from './cut/describe-function.ts';
import { createFindTools } from './find-tools.ts';
import { clashReason, possibleNames, uniqueNames, type NamedEntry } from '../definitions/name-functions.ts';
import { estimateFunctionTokens } from '../definitions/lazy-spec.ts';
import type { FunctionSearch } from './search-functions.ts';
import type { Candidate, Warning } from '../definitions/tool-source.ts';

/** Functions that are offered to a model besides the caller's own: providers refuse more than 128 in all. */
export const offeredFunctions = 128;
/** Tokens of all offered functions: half the context of a small local model. Beyond it those that fit the conversation best are offered. */
export const offeredTokens = 16_000;
/** Functions that are offered when there are too many; with more, models choose worse. */
export const chosenFunctions = 40;

interface OfferOptions {
  /** In order of precedence: in a name clash, the function of the later group is renamed. */
  groups: readonly (readonly Candidate[])[];
  /** The names of the caller's functions; they count towards the limit. */
  callerNames: readonly string[];
  /** The latest messages of the user, by which functions are chosen if there are too many. */
  query?: string;
  /** Makes a search over a list of functions. Absent: the first functions are offered. */
  searchIn?: (specs: readonly ToolSpec[]) => Promise<FunctionSearch>;
}

interface Named {
  candidate: Candidate;
  tool: Tool;
}

/** Functions made in one turn of the event loop: a few milliseconds. */
const namedPerTurn = 250;

/** Names every candidate; in a clash, the one of the later group is renamed. Adds the names to `taken`. */
export function* nameInGroups(groups: OfferOptions['groups'], taken: Set<string>): Generator<NamedEntry<Candidate>> {
  for (const group of groups) {
    const requests = group.map((entry) => ({ wanted: entry.wanted, key: entry.key, whenTaken: entry.whenTaken, entry }));
    const named = uniqueNames(requests, taken);
    for (const { name } of named) taken.add(name);
    yield* named;
  }
}

/**
 * Names all candidates. If they exceed what a model can handle (`offeredFunctions`, `offeredTokens`), those that the request names and
 * those that fit the conversation best are offered. The others are deferred: the `finder` tool finds them.
 */
export async function offerTools({ groups, callerNames, query = '', searchIn }: OfferOptions): Promise<ToolOffer> {
  const named: Named[] = [];
  const taken = new Set(callerNames);
  const renames: Rename[] = [];
  for (const { name, entry, renamed } of nameInGroups(groups, taken)) {
    const created = entry.toTool(name);
    const tool = created.otherNames === undefined ? withNames(created, entry) : created;
    named.push({ candidate: entry, tool });
    if (renamed !== undefined) renames.push({ ...renamed, server: tool.server });
    if (named.length % namedPerTurn === 0) await nextTurn();
  }
  const warnings = renamedWarnings(renames);
  const capacity = Math.max(0, offeredFunctions - callerNames.length);
  const { all, describer } = withinShare(named, taken);
  const helpers = describer === undefined ? 0 : 1;
  const cut = describer && { describer };
  if (all.length <= capacity - helpers && tokensOf(all) <= offeredTokens) {
    if (describer !== undefined) await cutAhead(all.map(({ tool }) => tool));
    return { tools: byName(all), warnings, ...cut };
  }

  const search = await searchIn?.(named.map(({ candidate, tool }) => candidate.spec ?? tool.spec));
  // One place is for the finder.
  const chosen = chooseWithin(all, (await search?.(query, named.length)) ?? [], capacity - helpers - 1);
  const offered = all.filter((entry) => chosen.has(entry));
  await cutAhead(offered.map(({ tool }) => tool));
  warnings.push(tooManyWarning(named.length, offered.length));
  if (search === undefined) return { tools: byName(offered), warnings, ...cut };
  const tool = createFindTools(freeName('find_tools', taken), { tools: all.map((entry) => entry.tool), search });
  return { tools: byName(offered), warnings, finder: { tool, deferred: byName(all) }, ...cut };
}

/**
 * Where not all functions fit whole, cuts those that are larger than one may be beside others; the describer gives what was cut. The work is done when
 * the parameters of a function are read.
 */
export function withinShare(named: readonly Named[], taken: ReadonlySet<string>): { all: readonly Named[]; describer: Tool | undefined } {
  const fit = tokensOf(named) <= offeredTokens || named.every((entry) => costOf(entry) <= functionTokens);
  if (fit) return { all: named, describer: undefined };
  const name = freeName('describe_function', taken);
  const all = named.map((entry) => (costOf(entry) <= functionTokens ? entry : { ...entry, tool: cutTool(entry.tool, name) }));
  return { all, describer: createDescribeFunction(name, byName(all)) };
}

/** Adds the names by which approval rules may refer to the tool: its own name, and those that it may get in another offer. */
export function withNames(tool: Tool, candidate: Omit<Candidate, 'toTool'>): Tool {
  const { wanted, id, otherNames = [] } = candidate;
  return { ...tool, otherNames: [wanted, id ?? `server:${tool.label}`, ...otherNames, ...possibleNames(candidate)] };
}

/** In this order: named by the request, best match, then evenly from the front of each server's list. */
function chooseWithin(named: readonly Named[], ranked: readonly number[], capacity: number): Set<Named> {
  const requested = named.filter(({ candidate }) => candidate.isNamed === true);
  const matching = ranked.flatMap((position) => named[position] ?? []).slice(0, chosenFunctions);
  const order = [...new Set([...requested, ...matching, ...fromEachServer(named)])];
  const chosen = new Set<Named>();
  let tokens = 0;
  for (const entry of order) {
    if (chosen.size >= (entry.candidate.isNamed === true ? capacity : Math.min(capacity, chosenFunctions))) break;
    const cost = costOf(entry);
    // Skip a function that is too large, but continue with smaller ones.
    if (tokens + cost > offeredTokens) continue;
    tokens += cost;
    chosen.add(entry);
  }
  return chosen;
}

/** So that a conversation without any match still gets some functions of every server. */
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

/** Measures the candidate's cached spec where there is one, because the tool's spec is created anew for each request. */
function costOf({ candidate, tool: { spec, whole } }: Named): number {
  const tokens = estimateFunctionTokens(candidate.spec ?? whole ?? spec);
  return whole === undefined ? tokens : Math.min(tokens, functionTokens);
}

function byName(named: readonly Named[]): Map<string, Tool> {
  return new Map(named.map(({ tool }) => [tool.spec.name, tool]));
}

/** A helper's own name; it yields to functions of servers and the caller. */
function freeName(wanted: string, taken: ReadonlySet<string>): string {
  for (let count = 1; ; count += 1) {
    const name = count === 1 ? wanted : `${wanted}_${count}`;
    if (!taken.has(name)) return name;
  }
}

interface Rename {
  server: string;
  from: string;
  to: string;
  reason: string;
}

/** One warning per server and reason: a server that is connected twice clashes in every function. */
function renamedWarnings(renames: readonly Rename[]): Warning[] {
  const groups = Map.groupBy(renames, ({ server, reason }) => `${server}\n${reason}`);
  return [...groups.values()].map((group) => ({ code: 'function_renamed', message: renamedMessage(group) }));
}

function renamedMessage(group: readonly Rename[]): string {
  const [{ server, from, to, reason } = { server: '', from: '', to: '', reason: '' }] = group;
  if (group.length === 1) return `The function "${from}" of ${server} is offered as "${to}": ${reason}.`;
  const reasons = reason === clashReason ? 'other functions have their names' : reason;
  const names = group.slice(0, maxListedNames).map((rename) => `"${rename.from}" as "${rename.to}"`);
  return `${group.length} functions of ${server} are offered under other names (${reasons}): ${names.join(', ')}${andMore(group.length)}.`;
}

/** The number of names in a warning; more would bury its point. */
const maxListedNames = 5;

export function listNames(names: readonly string[]): string {
  const shown = names.slice(0, maxListedNames).map((name) => `"${name.slice(0, 100)}"`);
  return `${shown.join(', ')}${andMore(names.length)}`;
}

function andMore(count: number): string {
  return count > maxListedNames ? ` and ${count - maxListedNames} more` : '';
}

function tooManyWarning(wanted: number, offered: number): Warning {
  return {
    code: 'functions_left_out',
    message:
      `${offered} of ${wanted} functions are offered, those that fit the conversation best; the model can search the others. ` +
      'To choose them yourself, use tool_ids ("server:<id>" or "server:<id>/<function>").',
  };
}
