import pLimit from 'p-limit';
import { asSentence } from '../../../shared/text/as-sentence.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';
import { limits } from '../../../core/limits.ts';
import { parseTree } from './parse-document.ts';
import { nestedValues } from './resolve-references.ts';
import { referenceOf } from '../../../shared/json-schema/resolve.ts';

/** Files of one document; the largest real one consists of 290. */
const documentFiles = 1_000;

/** Gives the bytes of a file. Which files are requested is decided here; the address is checked again when it is fetched. */
export type FetchFile = (url: string) => Promise<Uint8Array>;

interface FileSource {
  fetchFile: FetchFile;
  parse?: (text: string) => JsonValue;
}

/** Where the files that a document refers to are put. */
const filesKey = 'x-toolwharf-files';
const parallelFetches = 8;
const maxWarnings = 20;

/** A schema that refers to a file, the file's address, and the part of the reference after its `#`. */
interface FileReference {
  schema: JsonObject;
  target: string;
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
  { fetchFile, parse = parseTree }: FileSource,
): Promise<{ files: number; warnings: string[] }> {
  const rootUrl = withoutFragment(url);
  const files: JsonObject = {};
  /** The new prefix of references to a file; undefined for a file that cannot be used. */
  const pointers = new Map<string, string | undefined>([[rootUrl, '#']]);
  const warnings: string[] = [];
  const inTurn = pLimit(parallelFetches);
  let bytesLeft: number = limits.documentBytes;

  const addFile = async (target: string): Promise<FileReference[]> => {
    const key = freeKey(target, files);
    files[key] = null;
    pointers.set(target, undefined);
    try {
      if (pointers.size > documentFiles + 1) throw new Error(`a document may have ${documentFiles} files`);
      const bytes = await fetchFile(target);
      bytesLeft -= bytes.byteLength;
      if (bytesLeft < 0) throw new Error(`all files together are larger than ${limits.documentBytes} bytes`);
      const value = parse(new TextDecoder().decode(bytes));
      files[key] = value;
      pointers.set(target, `#/${filesKey}/${key}`);
      return fileReferences(value, target, rootUrl);
    } catch (error) {
      delete files[key];
      const reason = error instanceof Error ? error.message : String(error);
      warnings.push(`${shownName(target)} could not be used: ${asSentence(reason)}`);
      return [];
    }
  };

  let found = fileReferences(document, rootUrl, rootUrl);
  while (found.length > 0) {
    const wanted = new Set(found.map(({ target }) => target).filter((target) => !pointers.has(target)));
    // All files of a round are fetched at once; those that they refer to are the next round.
    const next = await Promise.all([...wanted].map((target) => inTurn(() => addFile(target))));
    for (const { schema, target, fragment } of found) {
      const pointer = pointers.get(target);
      if (pointer !== undefined) schema['$ref'] = `${pointer}${fragment}`;
    }
    found = next.flat();
  }
  if (pointers.size > 1) document[filesKey] = files;
  return { files: pointers.size - 1, warnings: warnings.slice(0, maxWarnings) };
}

/** The references in a file that may be followed. */
function fileReferences(root: JsonValue, fileUrl: string, rootUrl: string): FileReference[] {
  const found: FileReference[] = [];
  for (const schema of nestedValues(root)) {
    const reference = isJsonObject(schema) ? referenceOf(schema) : undefined;
    if (reference === undefined || !isJsonObject(schema)) continue;
    const [address = '', fragment = ''] = reference.split('#', 2);
    const target = address === '' ? fileUrl : allowedUrl(address, fileUrl, rootUrl);
    if (target !== undefined) found.push({ schema, target, fragment });
  }
  return found;
}

/** The address that a reference means; undefined for another origin, for what does not lie below the document's folder, and for no address at all. */
function allowedUrl(reference: string, fileUrl: string, rootUrl: string): string | undefined {
  const target = URL.parse(reference, fileUrl);
  const root = new URL(rootUrl);
  const folder = root.pathname.slice(0, root.pathname.lastIndexOf('/') + 1);
  if (target === null || target.origin !== root.origin || target.username !== '' || target.password !== '') return undefined;
  // Some servers decode these to slashes and dots.
  if (/%2f|%5c|%2e|\\/i.test(target.pathname) || !target.pathname.startsWith(folder)) return undefined;
  target.hash = '';
  // The document itself, which was perhaps fetched with a query (a key).
  return target.pathname === root.pathname && target.search === '' ? rootUrl : target.href;
}

function withoutFragment(url: string): string {
  return url.split('#', 1)[0] ?? url;
}

/** The file's name without its extension, because it becomes the name of a definition. */
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
