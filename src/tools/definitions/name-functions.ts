import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';

/** The limit of the OpenAI API, and of the servers that implement it. */
const maxNameLength = 64;
/** Hex digits, 24 bits: enough to distinguish the few names with the same beginning. */
const hashLength = 6;
const legal = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;

/** The reason for a rename because of a name clash. */
export const clashReason = 'another function has this name';

/** An entry that needs a name. `key` identifies it independent of the order of the list; for an operation it is method and path. */
interface NameRequest<T> {
  wanted: string;
  key: string;
  /** Tried if `wanted` is taken, before a hash is added. */
  whenTaken?: string | undefined;
  entry: T;
}

export interface NamedEntry<T> {
  name: string;
  entry: T;
  /** Set when `name` is not what was wanted. */
  renamed?: { from: string; to: string; reason: string };
}

/**
 * Makes a function name that every provider accepts (`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`). Deterministic. A name that was shortened, or lost letters of
 * another script, ends in a hash of the original text, so that it stays distinct from similar ones.
 */
export function legalName(text: string): string {
  if (legal.test(text)) return text;
  const latin = text.normalize('NFKD').replaceAll(/\p{M}+/gu, '');
  const words = latin.split(/[^A-Za-z0-9_-]+/).filter((word) => word !== '');
  const joined = words.join('_');
  const name = joined === '' ? 'function' : /^[A-Za-z_]/.test(joined) ? joined : `_${joined}`;
  const hasLostLetters = joined === '' || /[^\P{L}A-Za-z]|[^\P{N}0-9]/u.test(latin);
  return hasLostLetters ? withHash(name, text) : name.length > maxNameLength ? withHash(name, text) : name;
}

/**
 * Gives each entry a unique name. Clashes are resolved by the entries' keys, so that reordering the list changes no name. An entry whose wanted name
 * is legal has precedence over one whose name had to be changed.
 */
export function uniqueNames<T>(entries: NameRequest<T>[], taken: ReadonlySet<string>): NamedEntry<T>[] {
  if (areFree(entries, taken)) return entries.map(({ wanted, entry }) => ({ name: wanted, entry }));
  const requests = entries.map((request, index) => ({ ...request, index, plain: legalName(request.wanted) }));
  const inKeyOrder = requests.toSorted((a, b) => Number(a.wanted !== a.plain) - Number(b.wanted !== b.plain) || compare(a.key, b.key));
  const used = new Set(taken);
  const names = new Map<number, string>();
  for (const { index, plain } of inKeyOrder) {
    if (used.has(plain)) continue;
    used.add(plain);
    names.set(index, plain);
  }
  for (const { index, plain, key, whenTaken } of inKeyOrder) {
    if (names.has(index)) continue;
    const alternative = whenTaken === undefined ? undefined : legalName(whenTaken);
    const name = alternative === undefined || used.has(alternative) ? firstFree(plain, key, used) : alternative;
    used.add(name);
    names.set(index, name);
  }
  return requests.map((request) => toNamedEntry(request, names.get(request.index) ?? request.plain));
}

/** Whether all entries can have the names that they want, as nearly always. */
function areFree(entries: readonly NameRequest<unknown>[], taken: ReadonlySet<string>): boolean {
  const wanted = new Set<string>();
  for (const { wanted: name } of entries) if (legal.test(name) && !taken.has(name)) wanted.add(name);
  return wanted.size === entries.length;
}

/**
 * Every name that an entry may get in any list: its own name, and those used when that is taken. Only entries with equal keys may get yet another
 * one.
 */
export function possibleNames({ wanted, key, whenTaken }: Pick<NameRequest<unknown>, 'wanted' | 'key' | 'whenTaken'>): string[] {
  const plain = legalName(wanted);
  return [plain, ...(whenTaken === undefined ? [] : [legalName(whenTaken)]), withHash(plain, key)];
}

function toNamedEntry<T>({ wanted, plain, entry }: NameRequest<T> & { plain: string }, name: string): NamedEntry<T> {
  if (name === wanted) return { name, entry };
  return { name, entry, renamed: { from: wanted, to: name, reason: reasonFor(wanted, name === plain) } };
}

function reasonFor(wanted: string, isPlain: boolean): string {
  if (!isPlain) return clashReason;
  if (wanted.length > maxNameLength && legal.test(wanted.slice(0, maxNameLength))) return `longer than ${maxNameLength} characters`;
  return 'function names consist of letters, digits, "_" and "-", and do not begin with a digit or "-"';
}

/** Entries with equal keys are numbered; only this depends on the order of the list. */
function firstFree(plain: string, key: string, used: ReadonlySet<string>): string {
  let name = withHash(plain, key);
  for (let number = 2; used.has(name); number += 1) name = withHash(plain, `${key} ${number}`);
  return name;
}

function withHash(name: string, source: string): string {
  return `${name.slice(0, maxNameLength - hashLength - 1)}_${hashOf(source)}`;
}

/** A cache of hashes of texts up to `maxCachedLength` characters: chats are offered the same functions repeatedly, and each needs its hash twice. */
const cachedHashes = new LRUCache<string, string>({ max: 10_000 });
const maxCachedLength = 300;

function hashOf(source: string): string {
  const known = cachedHashes.get(source);
  if (known !== undefined) return known;
  const computed = hash('sha256', source).slice(0, hashLength);
  if (source.length <= maxCachedLength) cachedHashes.set(source, computed);
  return computed;
}

/** By code unit, because `localeCompare` depends on the host's locale. */
function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
