import { limits } from '../../core/limits.ts';
import type { ResultStore } from '../../core/result-store.ts';

/** A result as a model reads it at once. */
export interface TruncatedResult {
  text: string;
  isCut: boolean;
}

export interface TruncateOptions {
  maxBytes: number;
  /** Where the whole is stored for reading on; undefined where no model will read on. */
  results: ResultStore | undefined;
  /** The name under which `read_result` is offered. */
  readerName: string;
}

/** The beginning says what a result is and the end how it came out: both are shown, the beginning more. */
const headShare = 0.7;
/** For the mark between the two. */
const markBytes = 240;
/** Of a model's context, for one result: the rest is for the conversation, its functions and other results. */
const contextShare = 0.3;
/** Text of many languages and JSON have between three and four bytes a token. */
const bytesPerToken = 3.5;
/** Less than this says nothing, however small a context is. */
const smallestShareBytes = 1_000;

/** What one result may take of a context of so many tokens. */
export function resultShareBytes(contextTokens: number | undefined): number {
  if (contextTokens === undefined) return limits.modelResultBytes;
  return Math.min(Math.max(Math.floor(contextTokens * contextShare * bytesPerToken), smallestShareBytes), limits.toolResultBytes);
}

/** For each of so many results that come at once: together they take no more than two would. */
export function shareAmong(shareBytes: number, results: number): number {
  return Math.max(Math.min(shareBytes, Math.floor((2 * shareBytes) / Math.max(results, 1))), smallestShareBytes);
}

/** Cuts a text beyond the limit to its head and tail, at whole characters, with a mark that says how to read on. */
export function truncateResult(text: string, options: TruncateOptions): TruncatedResult {
  const { maxBytes, results, readerName } = options;
  if (text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes) return { text, isCut: false };
  const room = Math.max(maxBytes - markBytes, 0);
  const head = headWithin(text, Math.ceil(room * headShare));
  const tail = tailWithin(text.slice(head.length), Math.floor(room * (1 - headShare)));
  const end = text.length - tail.length;
  const reference = results?.keep(text);
  const how = reference === undefined ? '' : ` To read on, call ${readerName} with ${JSON.stringify({ reference, offset: head.length })}.`;
  const mark = `[cut: characters ${head.length} to ${end} of ${text.length} are left out.${how}]`;
  return { text: [head, mark, tail].filter((part) => part !== '').join('\n'), isCut: true };
}

/** The longest beginning within so many bytes; a character is never split. */
export function headWithin(text: string, maxBytes: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(maxBytes));
  return text.slice(0, read);
}

function tailWithin(text: string, maxBytes: number): string {
  if (maxBytes === 0) return '';
  // A character has at most three bytes for each of its code units, so this many units always hold enough.
  const bytes = new TextEncoder().encode(text.slice(-maxBytes).toWellFormed());
  let start = Math.max(bytes.byteLength - maxBytes, 0);
  // 10xxxxxx continues a character that began before.
  while (start < bytes.byteLength && ((bytes[start] ?? 0) & 0xc0) === 0x80) start++;
  const units = new TextDecoder().decode(bytes.subarray(start)).length;
  return units === 0 ? '' : text.slice(-units);
}
