import { limits } from '../../core/limits.ts';
import type { ResultStore } from '../../core/stores/result-store.ts';

/** Part of a result that a model of unknown context size reads at once: about 25,000 tokens. It reads the rest with `read_result`. */
export const modelResultBytes = 100_000;

/** The part of a result that the model gets at first. */
interface TruncatedResult {
  text: string;
  isCut: boolean;
}

interface TruncateOptions {
  maxBytes: number;
  /** Where the whole result is stored, and the name of `read_result`; undefined if the model cannot call it. */
  reader: { results: ResultStore; name: string } | undefined;
}

/** The share of the head: it shows what the result is, the tail how it ended. */
const headShare = 0.7;
/** Bytes reserved for the mark between head and tail. */
const markBytes = 240;
/** The share of the context for one result; the rest is for the conversation, functions and other results. */
const contextShare = 0.3;
/** JSON and text in most languages have three to four bytes per token. */
const bytesPerToken = 3.5;
/** The minimum, however small the context is; less would be useless. */
const minShareBytes = 1_000;

/** The bytes that one result may take in a context of this size. */
export function resultShareBytes(contextTokens: number | undefined): number {
  if (contextTokens === undefined) return modelResultBytes;
  return Math.min(Math.max(Math.floor(contextTokens * contextShare * bytesPerToken), minShareBytes), limits.toolResultBytes);
}

/** The bytes for each of several results of one round: together they take no more than two would. */
export function shareAmong(shareBytes: number, results: number): number {
  return Math.max(Math.min(shareBytes, Math.floor((2 * shareBytes) / Math.max(results, 1))), minShareBytes);
}

/** Truncates a text above the limit to its head and tail, at character boundaries, with a mark that says how to read the rest. */
export function truncateResult(text: string, { maxBytes, reader }: TruncateOptions): TruncatedResult {
  if (text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes) return { text, isCut: false };
  const room = Math.max(maxBytes - markBytes, 0);
  const head = headWithin(text, Math.ceil(room * headShare));
  const tail = tailWithin(text.slice(head.length), Math.floor(room * (1 - headShare)));
  const end = text.length - tail.length;
  const reference = reader?.results.add(text);
  const how =
    reference === undefined ? '' : ` To read on, call ${reader?.name} with ${JSON.stringify({ reference, offset: head.length })}.`;
  const mark = `[cut: characters ${head.length} to ${end} of ${text.length} are left out.${how}]`;
  return { text: [head, mark, tail].filter((part) => part !== '').join('\n'), isCut: true };
}

/** The longest prefix that fits the bytes, without splitting a character. */
export function headWithin(text: string, maxBytes: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(maxBytes));
  return text.slice(0, read);
}

function tailWithin(text: string, maxBytes: number): string {
  if (maxBytes === 0) return '';
  // A code unit has at least one byte in UTF-8, so this many units are always enough.
  const bytes = new TextEncoder().encode(text.slice(-maxBytes).toWellFormed());
  let start = Math.max(bytes.byteLength - maxBytes, 0);
  // 10xxxxxx is a continuation byte.
  while (start < bytes.byteLength && ((bytes[start] ?? 0) & 0xc0) === 0x80) start++;
  const units = new TextDecoder().decode(bytes.subarray(start)).length;
  return units === 0 ? '' : text.slice(-units);
}
