import type { Tool, ToolSpec } from '../../core/tools/tool.ts';

/** The match of a name that a model wrote with the offered names. */
type NameMatch =
  | { type: 'exact'; name: string }
  /** Written differently: another case or separator, a namespace before it, or a shortened form that matches just one function. */
  | { type: 'repaired'; name: string }
  | { type: 'unknown'; candidates: string[] };

const shortestPrefix = 3;
/** The minimum letters of a name that was truncated within a word (`get_current_loc`). */
const minTruncatedLength = 6;
/** Offered names have at most 64 characters; much longer texts are not names. */
const maxWrittenLength = 256;
const shownCandidates = 12;

/**
 * Models shorten long generated names, such as FastAPI's (`get_current_local` for `get_current_local_get_current_local_time_get`). A shortened name
 * matches if it fits exactly one function; a guess between two could run the wrong one. Whether the function may run by that name: `mayRunAs`.
 */
export function findOfferedName(written: string, offered: readonly string[]): NameMatch {
  if (written.length > maxWrittenLength) return { type: 'unknown', candidates: offered.slice(0, shownCandidates) };
  const trimmed = written.trim();
  if (offered.includes(trimmed)) return { type: 'exact', name: trimmed };
  const steps: ((name: string) => boolean)[] = [
    (name) => plain(name) === plain(trimmed),
    (name) => plain(name) === plain(trimmed.slice(trimmed.lastIndexOf('/') + 1)),
    (name) => isShortened(trimmed, name),
    (name) => plain(trimmed).length >= minTruncatedLength && isTruncated(plain(trimmed), plain(name)),
  ];
  for (const fits of steps) {
    const matches = offered.filter(fits);
    const only = matches.length === 1 ? matches[0] : plainOf(matches);
    if (only !== undefined) return { type: 'repaired', name: only };
    if (matches.length > 1) return { type: 'unknown', candidates: matches.slice(0, shownCandidates) };
  }
  return { type: 'unknown', candidates: offered.slice(0, shownCandidates) };
}

/** What decides whether a function may run by a name. */
interface NamedTool extends Partial<Pick<Tool, 'server' | 'endpoint' | 'isReadOnly'>> {
  spec: Pick<ToolSpec, 'name'>;
}

/**
 * The function that may run when a model writes this name, and for an unknown name the offered ones to choose from, the nearest first. `callerNames`: of the
 * caller's functions, which are offered too: all names are matched at once, so that a call of a caller's function never ends up at a similarly named one of
 * the gateway.
 */
export function findCallableName(written: string, tools: ReadonlyMap<string, Tool>, callerNames: Iterable<string> = []): NameMatch {
  const offered = [...callerNames, ...tools.keys()];
  const match = findOfferedName(written, offered);
  if (match.type === 'exact') return match;
  if (match.type === 'repaired' && mayRunAs(written, tools.get(match.name) ?? { spec: match })) return match;
  const namespaced = written.length > maxWrittenLength ? [] : [...tools].filter(([, tool]) => isNamespaced(written, tool));
  const [only, ...others] = namespaced;
  if (only !== undefined && others.length === 0) return { type: 'repaired', name: only[0] };
  return { type: 'unknown', candidates: nearestNames(match, offered) };
}

function nearestNames(match: NameMatch, offered: readonly string[]): string[] {
  return match.type === 'unknown' ? match.candidates : [...new Set([match.name, ...offered])].slice(0, shownCandidates);
}

/** Words that a model leaves out at the beginning of a name without changing what the call does. */
const readingVerbs: ReadonlySet<string> = new Set(['fetch', 'find', 'get', 'list', 'locate', 'lookup', 'query', 'read', 'search', 'show']);

/**
 * Whether a call of `written`, which `findOfferedName` matches with this function, may run it. A shortened name has to keep the beginning, which says what the
 * function does: `order` does not mean `cancel_order`, unless the function only reads.
 */
export function mayRunAs(written: string, tool: NamedTool): boolean {
  const [whole, short] = [plain(tool.spec.name), plain(written)];
  if (tool.isReadOnly === true || whole.startsWith(short)) return true;
  if (whole === plain(tool.server ?? '') + short || isNamespaced(written, tool) || isAuthorsName(written, tool)) return true;
  const omitted = whole.endsWith(short) ? words(tool.spec.name).slice(0, -words(written).length) : [];
  return omitted.length > 0 && omitted.every((word) => readingVerbs.has(word) || words(written).includes(word));
}

/** Models put the id of a server before a name, or how templates call the list of functions. */
function isNamespaced(written: string, { spec, server = '' }: NamedTool): boolean {
  const name = plain(spec.name);
  const [general = ''] = /^\s*(?:functions?|tools?|default_api|mcp)(?:[/.:]|__)/i.exec(written) ?? [];
  const rest = plain(written.slice(general.length));
  return rest === plain(server) + name || (general !== '' && rest === name);
}

/** FastAPI generates an `operationId` from the function's own name, the whole path and the method. */
function isAuthorsName(written: string, { spec, endpoint = '' }: NamedTool): boolean {
  const [, method, path] = /^([A-Z]+) \w+:\/\/[^/]+\/(.+)$/.exec(endpoint) ?? [];
  return method !== undefined && path !== undefined && plain(spec.name) === plain(`${written}${path}${method}`);
}

/** A function renamed after a clash has its plain name and a short hash; it does not make the plain name ambiguous. */
function plainOf(names: readonly string[]): string | undefined {
  return names.find((name) =>
    names.every((other) => other === name || (other.startsWith(`${name}_`) && /^_[0-9a-f]{6,8}$/.test(other.slice(name.length)))),
  );
}

/** Case and separators are ignored, because models mix them up. */
function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '');
}

/** Whether the written name is the beginning of the name. A number that is cut is another number: `light_1` is not `light_12`. */
function isTruncated(written: string, name: string): boolean {
  return name.startsWith(written) && !/\p{N}{2}/u.test(name.slice(written.length - 1, written.length + 1));
}

/** Whether the written name is a prefix or suffix of the name, in whole words. */
function isShortened(written: string, name: string): boolean {
  const short = words(written);
  const long = words(name);
  if (plain(written).length < shortestPrefix || short.length === 0 || short.length >= long.length) return false;
  const isBeginning = short.every((word, index) => word === long[index]);
  return isBeginning || short.every((word, index) => word === long[long.length - short.length + index]);
}

function words(name: string): string[] {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '');
}
