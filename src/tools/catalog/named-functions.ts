import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Tool, ToolOffer, ToolSpec } from '../../core/tools/tool.ts';
import { cutTool, functionTokens } from './cut/cut-spec.ts';
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

/** In order of precedence: in a name clash, the function of the later group is renamed. */
export type CandidateGroups = readonly (readonly Candidate[])[];

export interface Named {
  candidate: Candidate;
  tool: Tool;
}

/** Functions made in one turn of the event loop: a few milliseconds. */
export const namedPerTurn = 250;

type Finder = NonNullable<ToolOffer['finder']>;

interface NamedFunctionsParts {
  named: readonly Named[];
  /** All names, those of the caller's functions too. */
  taken: ReadonlySet<string>;
  warnings: readonly Warning[];
  /** Functions that may be offered beside the caller's own. */
  capacity: number;
}

/** All functions of one offer. They do not depend on the conversation, so they can be cached, with everything derived from them. */
export class NamedFunctions {
  readonly warnings: readonly Warning[];
  /** In the order of precedence; the large ones cut, if not all fit whole. */
  readonly all: readonly Named[];
  /** Gives what was cut. */
  readonly describer: Tool | undefined;
  /** How many may be offered with the describer. */
  readonly capacity: number;
  /** The offer, if all of them fit. */
  readonly whole: ToolOffer | undefined;
  readonly #finderName: string;
  readonly #named: readonly Named[];
  readonly #finders = new WeakMap<FunctionSearch, Finder>();
  #specs: readonly ToolSpec[] | undefined;
  #requested: readonly number[] | undefined;
  #fromEachServer: readonly number[] | undefined;

  constructor({ named, taken, warnings, capacity }: NamedFunctionsParts) {
    const { all, describer } = withinShare(named, taken);
    this.#named = named;
    this.warnings = warnings;
    this.all = all;
    this.describer = describer;
    this.capacity = capacity - (describer === undefined ? 0 : 1);
    this.#finderName = freeName('find_tools', taken);
    const fits = all.length <= this.capacity && tokensOf(all) <= offeredTokens;
    this.whole = fits ? { tools: byName(all), warnings, ...(describer && { describer }) } : undefined;
  }

  /** What is searched: the same array each time, because the index is found by it. */
  get specs(): readonly ToolSpec[] {
    return (this.#specs ??= this.#named.map(({ candidate, tool }) => candidate.spec ?? tool.spec));
  }

  /** Positions of functions that the request names. */
  get requested(): readonly number[] {
    return (this.#requested ??= this.all.flatMap(({ candidate }, position) => (candidate.isNamed === true ? [position] : [])));
  }

  /** Positions: the first function of each server, then the second, and so on, so that a conversation without any match gets some functions of every server. */
  get fromEachServer(): readonly number[] {
    return (this.#fromEachServer ??= evenlyFromServers(this.all));
  }

  finder(search: FunctionSearch): Finder {
    const finder = this.#finders.get(search) ?? {
      tool: createFindTools(this.#finderName, { tools: this.all.map(({ tool }) => tool), search }),
      deferred: byName(this.all),
    };
    this.#finders.set(search, finder);
    return finder;
  }
}

/** Names all candidates. `callerNames`: the names of the caller's functions, which count towards the limit. */
export async function nameFunctions(groups: CandidateGroups, callerNames: readonly string[]): Promise<NamedFunctions> {
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
  const capacity = Math.max(0, offeredFunctions - callerNames.length);
  return new NamedFunctions({ named, taken, warnings: renamedWarnings(renames), capacity });
}

/** Names every candidate; in a clash, the one of the later group is renamed. Adds the names to `taken`. */
export function* nameInGroups(groups: CandidateGroups, taken: Set<string>): Generator<NamedEntry<Candidate>> {
  for (const group of groups) {
    const requests = group.map((entry) => ({ wanted: entry.wanted, key: entry.key, whenTaken: entry.whenTaken, entry }));
    const named = uniqueNames(requests, taken);
    for (const { name } of named) taken.add(name);
    yield* named;
  }
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

function evenlyFromServers(all: readonly Named[]): number[] {
  const counts = new Map<string, number>();
  const ranks = all.map(({ tool: { server } }, position) => {
    const rank = counts.get(server) ?? 0;
    counts.set(server, rank + 1);
    return { position, rank };
  });
  return ranks.toSorted((left, right) => left.rank - right.rank).map(({ position }) => position);
}

function tokensOf(named: readonly Named[]): number {
  return named.reduce((sum, entry) => sum + costOf(entry), 0);
}

/** Measures the candidate's cached spec where there is one, because the tool's spec is created anew for each request. */
export function costOf({ candidate, tool: { spec, whole } }: Named): number {
  const tokens = estimateFunctionTokens(candidate.spec ?? whole ?? spec);
  return whole === undefined ? tokens : Math.min(tokens, functionTokens);
}

export function byName(named: readonly Named[]): Map<string, Tool> {
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
