import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';

/** The limit of the OpenAI API and of every server that imitates it. */
const maxNameLength = 64;
/** 24 bits: enough to keep the few names apart that meet at the same beginning. */
const hashLength = 6;
const legal = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;

/** Why a function has another name, where its own is taken. */
export const clashReason = 'another function has this name';

/** An entry that wants a name. `key` identifies it wherever it is in the list; for an operation its method and path. */
export interface NameWish<T> {
  wanted: string;
  key: string;
  /** Tried where the wish is taken, before a hash is added. */
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
 * A function name that every provider takes (`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`); the same input always gives the same name.
 * What had to be shortened, or lost letters of another script, ends in a hash of the whole text, so that it stays apart from its likes.
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
 * Gives each entry a name of its own. Which of two clashing entries keeps the plain name, and every suffix, follows from their keys,
 * so that reordering the list changes no name. An entry whose wish is legal as it stands comes before one that had to be changed.
 */
export function uniqueNames<T>(entries: NameWish<T>[], taken: ReadonlySet<string>): NamedEntry<T>[] {
  const wishes = entries.map((wish, index) => ({ ...wish, index, plain: legalName(wish.wanted) }));
  const inKeyOrder = wishes.toSorted((a, b) => Number(a.wanted !== a.plain) - Number(b.wanted !== b.plain) || compare(a.key, b.key));
  const used = new Set(taken);
  const names = new Map<number, string>();
  for (const { index, plain } of inKeyOrder) {
    if (used.has(plain)) continue;
    used.add(plain);
    names.set(index, plain);
  }
  for (const { index, plain, key, whenTaken } of inKeyOrder) {
    if (names.has(index)) continue;
    const second = whenTaken === undefined ? undefined : legalName(whenTaken);
    const name = second === undefined || used.has(second) ? firstFree(plain, key, used) : second;
    used.add(name);
    names.set(index, name);
  }
  return wishes.map((wish) => toNamedEntry(wish, names.get(wish.index) ?? wish.plain));
}

/**
 * Every name that an entry may get in some list: its own, and those that it gets where that one is taken. Only of entries with equal keys one may
 * get yet another name.
 */
export function possibleNames({ wanted, key, whenTaken }: Pick<NameWish<unknown>, 'wanted' | 'key' | 'whenTaken'>): string[] {
  const plain = legalName(wanted);
  return [plain, ...(whenTaken === undefined ? [] : [legalName(whenTaken)]), withHash(plain, key)];
}

function toNamedEntry<T>({ wanted, plain, entry }: NameWish<T> & { plain: string }, name: string): NamedEntry<T> {
  if (name === wanted) return { name, entry };
  return { name, entry, renamed: { from: wanted, to: name, reason: reasonFor(wanted, name === plain) } };
}

function reasonFor(wanted: string, isPlain: boolean): string {
  if (!isPlain) return clashReason;
  if (wanted.length > maxNameLength && legal.test(wanted.slice(0, maxNameLength))) return `longer than ${maxNameLength} characters`;
  return 'function names consist of letters, digits, "_" and "-", and do not begin with a digit or "-"';
}

/** Two entries with one key are distinguished by a number; that alone depends on the order. */
function firstFree(plain: string, key: string, used: ReadonlySet<string>): string {
  let name = withHash(plain, key);
  for (let number = 2; used.has(name); number += 1) name = withHash(plain, `${key} ${number}`);
  return name;
}

function withHash(name: string, source: string): string {
  return `${name.slice(0, maxNameLength - hashLength - 1)}_${hashOf(source)}`;
}

/** The hashes of texts up to `longestKnown` characters: a chat is offered the same functions again and again, and each needs its hash twice. */
const knownHashes = new LRUCache<string, string>({ max: 10_000 });
const longestKnown = 300;

function hashOf(source: string): string {
  const known = knownHashes.get(source);
  if (known !== undefined) return known;
  const computed = hash('sha256', source).slice(0, hashLength);
  if (source.length <= longestKnown) knownHashes.set(source, computed);
  return computed;
}

/** By code unit: `localeCompare` depends on the host's language. */
function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
