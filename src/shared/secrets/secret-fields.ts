import { isContainer, isJsonObject, type JsonObject, type JsonValue } from '../json/json.ts';
import { holdsMask, isSecretUrl, redactUrl, restoreUrl } from './secret-urls.ts';
import { isSecretField, isSecretName } from './secret-names.ts';
import { ExactNumber } from '../json/exact-number.ts';

/** In `{"name": "x-api-key", "value": "…"}` these fields name the value. */
const labels = ['name', 'key', 'header'];
/** Text that looks like a credential: of a header, of well-known providers, a JWT, a private key, JSON that contains one. */
const secretText =
  /^(?:bearer|basic|token)\s+\S{6}|\b(?:sk|rk|ghp|gho|ghs|glpat|github_pat|xox[abprs])[-_][\w-]{8}|\beyJ[\w-]{8,512}\.[\w.-]{8}|-----BEGIN [A-Z ]{0,40}PRIVATE KEY|"[\w-]{0,64}(?:secret|token|password|passwd|api_?key)"\s{0,4}:\s{0,4}"[^"]/i;

/**
 * Unknown fields of a connection as they may be shown: a secret is `null`, within a URL `[secret]`. Secrets are recognised by their name at every
 * level (`client_secret`, `oauth.token`), by the field around them (`headers`, `env`), or by their look. The same object when there is none.
 */
export function redactSecretFields(fields: JsonObject): JsonObject {
  const hidden = hide(fields, false);
  return isJsonObject(hidden) ? hidden : {};
}

/** The same fields without what `redactSecretFields` hides. Entries of a list that hold a secret are removed as a whole. */
export function withoutSecretFields(fields: JsonObject): JsonObject {
  const kept = withoutHidden(fields, redactSecretFields(fields));
  return isJsonObject(kept) ? kept : {};
}

/** `shown` is the value with its secrets redacted. Undefined if the value itself is a secret. */
function withoutHidden(value: JsonValue, shown: JsonValue | undefined): JsonValue | undefined {
  if (value === shown) return value;
  if (Array.isArray(value) && Array.isArray(shown)) return value.filter((entry, position) => entry === shown[position]);
  if (!isJsonObject(value) || !isJsonObject(shown)) return undefined;
  const entries = Object.entries(value).map(
    ([name, child]) => [name, child === undefined ? child : withoutHidden(child, shown[name])] as const,
  );
  return Object.fromEntries(entries.filter(([, child]) => child !== undefined));
}

/**
 * Restores earlier secrets that were omitted or sent back redacted. Entries of lists are matched by name, else by
 * position. An omitted field that contains secrets among other values stays removed.
 */
export function restoreSecretFields(before: JsonObject, given: JsonObject): JsonObject {
  const restored = restore(before, given, false);
  return isJsonObject(restored) ? restored : given;
}

interface HiddenLook {
  /** Whether `null` means a redacted secret; otherwise it means that there is none. */
  areNullsHidden: boolean;
  /** Whether the value itself is a secret. */
  isSecret?: boolean;
}

/** The path of the first redacted secret; undefined when there is none. Searches at most 64 levels. */
export function findHidden(value: JsonValue, { areNullsHidden, isSecret = false }: HiddenLook, levels = 64): string | undefined {
  if (typeof value === 'string') return holdsMask(value) ? '' : undefined;
  if (value === null) return isSecret && areNullsHidden ? '' : undefined;
  if (!isContainer(value) || levels === 0) return undefined;
  for (const [name, child] of Object.entries(value)) {
    if (child === undefined) continue;
    // `null` is treated like a string, because `headers: null` contains no secret.
    const isInside = isJsonObject(value) ? isSecretChild(value, name, { child: child ?? '', isSecret }) : isSecret;
    const path = findHidden(child, { areNullsHidden, isSecret: isInside }, levels - 1);
    if (path !== undefined) return path === '' ? name : `${name}.${path}`;
  }
  return undefined;
}

/** Recursion ends with the depth of the value, which the schema of connections bounds. */
function hide(value: JsonValue, isSecret: boolean): JsonValue {
  if (typeof value === 'string') return hideText(value, isSecret);
  if (typeof value === 'number' || value instanceof ExactNumber) return isSecret ? null : value;
  if (Array.isArray(value)) {
    const entries = value.map((entry) => hide(entry, isSecret));
    return entries.every((entry, position) => entry === value[position]) ? value : entries;
  }
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).map(([name, child]) => [name, hideChild(value, name, { child, isSecret })] as const);
  return entries.every(([name, child]) => child === value[name]) ? value : Object.fromEntries(entries);
}

function hideText(text: string, isSecret: boolean): string | null {
  if (text === '') return text;
  return isSecret || secretText.test(text) ? null : redactUrl(text);
}

interface Child {
  child: JsonValue | undefined;
  /** Whether the object around it is a secret. */
  isSecret: boolean;
}

function hideChild(parent: JsonObject, name: string, { child, isSecret }: Child): JsonValue | undefined {
  return child === undefined ? undefined : hide(child, isSecretChild(parent, name, { child, isSecret }));
}

function isSecretChild(parent: JsonObject, name: string, { child, isSecret }: Child): boolean {
  const label = labels.map((word) => parent[word]).find((text) => typeof text === 'string');
  if (typeof label === 'string' && Object.hasOwn(parent, 'value')) {
    if (name === 'value') return isSecret || isSecretName(label);
    if (labels.includes(name)) return false;
  }
  return isSecret || (child !== undefined && isSecretField(name, child));
}

function restore(before: JsonValue, given: JsonValue, isSecret: boolean): JsonValue {
  if (Array.isArray(before) && Array.isArray(given)) {
    const earlier = matchEntries(before, { given, isSecret });
    return given.map((entry, position) => restore(before[earlier.get(position) ?? -1] ?? null, entry, isSecret));
  }
  if (isJsonObject(before) && isJsonObject(given)) return restoreObject(before, given, isSecret);
  if (typeof before === 'string' && typeof given === 'string') return isSecretUrl(before) ? restoreUrl(before, given) : given;
  return given === null && hide(before, isSecret) === null ? before : given;
}

function restoreObject(before: JsonObject, given: JsonObject, isSecret: boolean): JsonObject {
  const restored = new Map(Object.entries(given));
  for (const [name, child] of Object.entries(before)) {
    if (child === undefined) continue;
    const isSecretHere = isSecretChild(before, name, { child, isSecret });
    const sent = restored.get(name);
    if (sent !== undefined) restored.set(name, restore(child, sent, isSecretHere));
    else if (isSecretHere || hide(child, false) === null) restored.set(name, child);
  }
  return Object.fromEntries(restored);
}

interface NewList {
  given: readonly JsonValue[];
  /** Whether the list is a secret. */
  isSecret: boolean;
}

/**
 * The position of each entry of a new list in the earlier one: of the equal entry, else of the one with the same name, else,
 * for entries without a name, the same position. No position is used twice, so that no secret replaces another.
 */
function matchEntries(before: readonly JsonValue[], { given, isSecret }: NewList): ReadonlyMap<number, number> {
  const shown = before.map((entry) => hide(entry, isSecret));
  const matched = new Map<number, number>();
  const free = new Set(before.keys());
  const take = (position: number, earlier: number | undefined): void => {
    if (earlier === undefined || matched.has(position) || !free.delete(earlier)) return;
    matched.set(position, earlier);
  };
  for (const toMark of [lookOf, nameOf]) {
    const marks = shown.map(toMark);
    const wanted = [...given.map(toMark).entries()].filter(([position, mark]) => mark !== undefined && !matched.has(position));
    for (const [position, mark] of wanted) if (marks[position] === mark) take(position, position);
    const others = new Map([...Map.groupBy(free, (earlier) => marks[earlier])].map(([mark, found]) => [mark, found.values()]));
    for (const [position, mark] of wanted) if (!matched.has(position)) take(position, others.get(mark)?.next().value);
  }
  for (const [position, entry] of given.entries()) if (nameOf(entry) === undefined) take(position, position);
  return matched;
}

function lookOf(entry: JsonValue): string {
  return JSON.stringify(entry);
}

function nameOf(entry: JsonValue): string | undefined {
  if (!isJsonObject(entry)) return undefined;
  const word = ['id', ...labels].find((name) => typeof entry[name] === 'string');
  return word === undefined ? undefined : JSON.stringify([word, entry[word]]);
}
