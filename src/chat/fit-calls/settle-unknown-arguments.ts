import { isContainer, type JsonObject, type JsonValue } from '../../shared/json/json.ts';
import { pathText } from './argument-path.ts';
import { nearestWord } from '../../shared/text/nearest-word.ts';
import type { MemberReader } from './declared-members.ts';
import type { DeclaredMembers } from './gather-members.ts';

/** Arguments in which every member is declared or allowed. Each list has one sentence per change. */
interface SettledArguments {
  args: JsonObject;
  /** A renamed member may need coercion, so its value was not looked at yet. */
  hasRenamed: boolean;
  /** For the run's events. */
  repairs: string[];
  /** For the model: what was renamed or ignored. */
  notices: string[];
  /** Why the call must not run. */
  problems: string[];
}

/** Limits the sentences and the names in them: arguments may have tens of thousands of members. */
const maxSentences = 10;
const shownNames = 40;
/** The nearest of more names takes milliseconds, so it is looked for so often only. */
const comparedNames = 500;
const comparedOfMany = 2;
const shownCharacters = 80;

interface Settling extends Omit<SettledArguments, 'args'> {
  read: MemberReader;
  /** The call changes nothing, so it runs without what it does not know. */
  onlyReads: boolean;
  path: (string | number)[];
}

/**
 * Applies the rule for unknown arguments to an object and everything within it. A name that equals exactly one unset declared name, apart from case, `_`
 * and `-`, is that one. With every declared name given, others are left out. Otherwise a call that only reads runs without them, and any other has a
 * problem.
 */
export function settleUnknownArguments(
  args: JsonObject,
  schema: JsonObject,
  { read, onlyReads }: { read: MemberReader; onlyReads: boolean },
): SettledArguments {
  const settling: Settling = { hasRenamed: false, repairs: [], notices: [], problems: [], read, onlyReads, path: [] };
  const settled = settleObject(args, read(schema, args), settling);
  const { hasRenamed, repairs, notices, problems } = settling;
  return { args: settled, hasRenamed, repairs, notices, problems };
}

/** Whether there is any unknown member, at any depth. Most calls have none. */
export function hasUnknownArguments(value: JsonValue | undefined, schema: JsonValue | undefined, read: MemberReader): boolean {
  if (!isContainer(value)) return false;
  const declared = read(schema, value);
  if (Array.isArray(value)) return value.some((item, index) => hasUnknownArguments(item, declared.itemSchema(index), read));
  return Object.keys(value).some(
    (name) => (!declared.isOpen && !declared.has(name)) || hasUnknownArguments(value[name], declared.schemaOf(name), read),
  );
}

function settleValue(value: JsonValue, schema: JsonValue | undefined, settling: Settling): JsonValue {
  if (!isContainer(value)) return value;
  const declared = settling.read(schema, value);
  if (!Array.isArray(value)) return settleObject(value, declared, settling);
  return value.map((item, index) => settleMember(item, { step: index, schema: declared.itemSchema(index) }, settling));
}

function settleMember(
  value: JsonValue,
  { step, schema }: { step: string | number; schema: JsonValue | undefined },
  settling: Settling,
): JsonValue {
  settling.path.push(step);
  const settled = settleValue(value, schema, settling);
  settling.path.pop();
  return settled;
}

function settleObject(value: JsonObject, declared: DeclaredMembers, settling: Settling): JsonObject {
  const unknown = declared.isOpen ? [] : Object.keys(value).filter((name) => !declared.has(name));
  const renamed = unknown.length === 0 ? new Map<string, string>() : findRenamed(unknown, value, declared);
  const ignored = unknown.filter((name) => !renamed.has(name));
  if (ignored.length > 0) judgeIgnored(ignored, { value, renamed, declared }, settling);
  const left = new Set(ignored);
  const entries: [string, JsonValue][] = [];
  for (const [name, child] of Object.entries(value)) {
    if (child === undefined || left.has(name)) continue;
    const meant = renamed.get(name);
    const schema = declared.schemaOf(meant ?? name);
    entries.push([meant ?? name, settleMember(child, { step: meant ?? name, schema }, settling)]);
    if (meant !== undefined) {
      settling.hasRenamed = true;
      const path = pathOf(name, settling);
      add(settling.repairs, `${path}: read as ${meant}`);
      add(settling.notices, `The argument '${path}' was read as '${meant}'.`);
    }
  }
  return Object.fromEntries(entries);
}

/** Two names for one are no name for it. */
function findRenamed(unknown: readonly string[], value: JsonObject, declared: DeclaredMembers): Map<string, string> {
  const names = plainNamesOf(declared);
  const written = Map.groupBy(unknown, plain);
  return new Map(
    unknown.flatMap((name): [string, string][] => {
      const isUnset = (candidate: string): boolean => !Object.hasOwn(value, candidate);
      const candidates = names.get(plain(name)) ?? [];
      const first = candidates.findIndex(isUnset);
      const meant = candidates[first];
      const isOnly = meant !== undefined && !candidates.slice(first + 1, first + 1 + Object.keys(value).length + 1).some(isUnset);
      return isOnly && written.get(plain(name))?.length === 1 ? [[name, meant]] : [];
    }),
  );
}

/** Apart from case, `_` and `-`. */
export function isSpelledAlike(one: string, other: string): boolean {
  return plain(one) === plain(other);
}

/** Of all objects with the same schema: arguments may have thousands of them, and the schema thousands of names. */
const plainNames = new WeakMap<DeclaredMembers, ReadonlyMap<string, readonly string[]>>();

function plainNamesOf(declared: DeclaredMembers): ReadonlyMap<string, readonly string[]> {
  const known = plainNames.get(declared);
  if (known !== undefined) return known;
  const names = Map.groupBy(declared.names(), plain);
  plainNames.set(declared, names);
  return names;
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[_-]/g, '');
}

interface Judged {
  value: JsonObject;
  renamed: ReadonlyMap<string, string>;
  declared: DeclaredMembers;
}

/** Whether the call may run without these members. */
function judgeIgnored(ignored: readonly string[], { value, renamed, declared }: Judged, settling: Settling): void {
  const { repairs, notices, problems, onlyReads } = settling;
  // One of thousands of objects: nothing more is told.
  if (problems.length >= maxSentences || (onlyReads && repairs.length >= maxSentences && notices.length >= maxSentences)) return;
  const names = declared.names();
  const renamedTo = new Set(renamed.values());
  const isWhole = !declared.hasPatterns && names.every((name) => Object.hasOwn(value, name) || renamedTo.has(name));
  const located = ignored.slice(0, maxSentences).map((name) => ({ name, path: pathOf(name, settling) }));
  if (isWhole || onlyReads) {
    for (const { path } of located) add(repairs, `${path}: unknown argument left out`);
    if (notices.length >= maxSentences) return;
    const known = names.length === 0 && !declared.hasPatterns ? 'It takes none.' : `Known: ${knownNames(declared)}.`;
    add(notices, `Ignored because unknown: ${listNames(located.map(({ path }) => path))}. ${known}`);
    return;
  }
  for (const [index, { name, path }] of located.entries()) {
    const hasNearest = names.length > 0 && (names.length <= comparedNames || index < comparedOfMany);
    const nearest = hasNearest ? `, the nearest is '${shorten(nearestWord(name, names).word)}'` : '';
    add(problems, `${path}: is not an argument of this function${nearest}`);
  }
  const within = settling.path.length === 0 ? '' : ` in '${pathText(settling.path, shorten)}'`;
  problems.push(`known arguments${within}: ${knownNames(declared)}`);
}

function add(sentences: string[], sentence: string): void {
  if (sentences.length < maxSentences) sentences.push(sentence);
}

function knownNames(declared: DeclaredMembers): string {
  const names = declared.names();
  return names.length === 0 ? 'those that match its patterns' : listNames(names);
}

export function listNames(names: readonly string[]): string {
  const more = names.length > shownNames ? ` and ${names.length - shownNames} more` : '';
  return `${names.slice(0, shownNames).map(shorten).join(', ')}${more}`;
}

function pathOf(name: string, { path }: Settling): string {
  return pathText([...path, name], shorten);
}

function shorten(name: string): string {
  return name.length > shownCharacters ? `${name.slice(0, shownCharacters)}…` : name;
}
