import pLimit from 'p-limit';
import { isDeeperThan, isJsonObject } from '../../../shared/json.ts';
import type { JsonObject, JsonValue } from '../../../shared/json.ts';
import { limits } from '../../../core/limits.ts';
import { hidingFaults, parseTree } from './parse-document.ts';
import { referenceOf } from './resolve-references.ts';

/** Gives the bytes of a file. Which ones may be asked for is decided here; whoever fetches checks the address all the same. */
export type FetchFile = (url: string) => Promise<Uint8Array>;

export interface FileSource {
  fetchFile: FetchFile;
  /** Takes out of a text what messages about it must not quote. */
  hide?: (text: string) => string;
}

/** Where files that a document refers to are put. */
const filesKey = 'x-toolwharf-files';
const parallelFetches = 8;
const maxWarnings = 20;

interface Holder {
  schema: JsonObject;
  fragment: string;
}

/**
 * Puts the files that a document refers to into the document, and turns references to them into internal ones, so that nothing after this knows
 * of files. Only files of the same origin below the document's own folder; all other references stay as they are, and cost their operation.
 * The document is changed. Never rejects: a file that cannot be had is a warning.
 */
export async function gatherFiles(
  document: JsonObject,
  url: string,
  { fetchFile, hide = (text) => text }: FileSource,
): Promise<{ files: number; warnings: string[] }> {
  const parse = hidingFaults(parseTree, hide);
  const rootUrl = withoutFragment(url);
  const files: JsonObject = {};
  const keys = new Map<string, string>();
  const warnings: string[] = [];
  const inTurn = pLimit(parallelFetches);
  let bytesLeft: number = limits.documentBytes;

  const gather = async (target: string, holders: Holder[]): Promise<Map<string, Holder[]>> => {
    const key = freeKey(target, files);
    files[key] = null;
    keys.set(target, key);
    try {
      if (keys.size > limits.documentFiles) throw new Error(`a document may have ${limits.documentFiles} files`);
      const bytes = await fetchFile(target);
      bytesLeft -= bytes.byteLength;
      if (bytesLeft < 0) throw new Error(`all files together are larger than ${limits.documentBytes} bytes`);
      const value = parse(new TextDecoder().decode(bytes));
      if (isDeeperThan(value, limits.documentDepth)) throw new Error(`it is nested deeper than ${limits.documentDepth} levels`);
      files[key] = value;
      pointAllAt(holders, key);
      return collect(value, { rootUrl, fileUrl: target, key });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (warnings.length < maxWarnings) warnings.push(`${shownName(target)} could not be used: ${reason.replace(/\.$/, '')}.`);
      keys.delete(target);
      failed.add(target);
      delete files[key];
      return new Map();
    }
  };

  const failed = new Set<string>();
  let waiting = [collect(document, { rootUrl, fileUrl: rootUrl, key: undefined })];
  while (waiting.length > 0) {
    const wanted = new Map<string, Holder[]>();
    for (const [target, holders] of waiting.flatMap((found) => [...found])) {
      const key = keys.get(target);
      if (key !== undefined) pointAllAt(holders, key);
      else if (!failed.has(target)) wanted.set(target, [...(wanted.get(target) ?? []), ...holders]);
    }
    // Within one round all are fetched at once; what they refer to is the next round.
    waiting = wanted.size === 0 ? [] : await Promise.all([...wanted].map(([target, holders]) => inTurn(() => gather(target, holders))));
  }
  if (keys.size > 0) document[filesKey] = files;
  return { files: keys.size + failed.size, warnings };
}

interface Place {
  rootUrl: string;
  fileUrl: string;
  /** Undefined in the document itself. */
  key: string | undefined;
}

/** References to other files, by their address. Those within the file are turned at once. Without the stack: a file may be deep. */
function collect(root: JsonValue, { rootUrl, fileUrl, key }: Place): Map<string, Holder[]> {
  const found = new Map<string, Holder[]>();
  const waiting: (JsonValue | undefined)[] = [root];
  for (let value = waiting.pop(); value !== undefined || waiting.length > 0; value = waiting.pop()) {
    if (typeof value !== 'object' || value === null) continue;
    for (const child of Object.values(value)) if (typeof child === 'object' && child !== null) waiting.push(child);
    const reference = isJsonObject(value) ? referenceOf(value) : undefined;
    if (reference === undefined || !isJsonObject(value)) continue;
    const [address = '', fragment = ''] = reference.split('#', 2);
    const target = address === '' ? fileUrl : allowedUrl(address, fileUrl, rootUrl);
    if (target === undefined) continue;
    const holder = { schema: value, fragment };
    if (target === rootUrl) holder.schema['$ref'] = `#${fragment}`;
    else if (target === fileUrl && key !== undefined) pointAt(holder, key);
    else found.set(target, [...(found.get(target) ?? []), holder]);
  }
  return found;
}

function pointAllAt(holders: readonly Holder[], key: string): void {
  for (const holder of holders) pointAt(holder, key);
}

function pointAt({ schema, fragment }: Holder, key: string): void {
  schema['$ref'] = `#/${filesKey}/${key}${fragment}`;
}

/** The address that a reference means; undefined for another origin, for what does not lie below the document's folder, and for no address at all. */
function allowedUrl(reference: string, fileUrl: string, rootUrl: string): string | undefined {
  const target = URL.parse(reference, fileUrl);
  const root = new URL(rootUrl);
  const folder = root.pathname.slice(0, root.pathname.lastIndexOf('/') + 1);
  if (target === null || target.origin !== root.origin || target.username !== '' || target.password !== '') return undefined;
  // Some servers take these for slashes and dots.
  if (/%2f|%5c|%2e|\\/i.test(target.pathname) || !target.pathname.startsWith(folder)) return undefined;
  // What a document was fetched with (a key, perhaps) goes along to files that ask for nothing else.
  target.hash = '';
  if (target.pathname === root.pathname && target.search === '') return withoutFragment(rootUrl);
  return target.href;
}

function withoutFragment(url: string): string {
  return url.split('#', 1)[0] ?? url;
}

/** The file's name without its ending, for it becomes the name of a definition. */
function freeKey(url: string, taken: JsonObject): string {
  const last = new URL(url).pathname.split('/').at(-1) ?? '';
  const name = last.replace(/\.(?:json|ya?ml)$/i, '').replaceAll(/[^A-Za-z0-9_.-]+/g, '_') || 'file';
  let key = name === '__proto__' ? 'file' : name;
  for (let number = 2; Object.hasOwn(taken, key); number += 1) key = `${name}_${number}`;
  return key;
}

/** Without its query, which may carry a key. */
function shownName(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`.slice(0, 300);
}
