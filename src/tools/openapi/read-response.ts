import { parse } from 'secure-json-parse';
import { isDeeperThan } from '../../core/json.ts';
import type { JsonValue } from '../../core/json.ts';
import { limits } from '../../core/limits.ts';
import { readBytes, type OutboundResponse } from '../../core/outbound.ts';
import type { ToolOutcome } from '../../core/tool.ts';
import { explainErrorBody } from './explain-error-body.ts';

/** Binary answers up to this size are handed on; a model reads a third more characters, and larger ones would fill its context with noise. */
const inlinedBinaryBytes = 8 * 1024;

interface Answer {
  bytes: Uint8Array;
  isTruncated: boolean;
  /** Lower case, without parameters; empty when the server does not say. */
  type: string;
  charset: string;
  maxBytes: number;
}

/**
 * What a server answered, as a model can use it: JSON as its value, text as text, small binaries as a `data:` URI, larger ones as a sentence.
 * Statuses of 400 and above are errors with the server's own words. At most `maxBytes` are read.
 * @throws OutboundError when the connection breaks amid the answer.
 */
export async function readResponse(response: OutboundResponse, maxBytes: number): Promise<ToolOutcome> {
  const isError = response.status >= 400;
  const { bytes, isTruncated } = await readBytes(response.body, isError ? Math.min(maxBytes, limits.upstreamErrorBytes) : maxBytes);
  const [type = '', ...parameters] = (response.headers['content-type'] ?? '').split(';').map((part) => part.trim());
  const charset = parameters.find((parameter) => /^charset=/i.test(parameter))?.replace(/^charset=["']?|["']$/gi, '') ?? 'utf-8';
  const answer = { bytes, isTruncated, type: type.toLowerCase(), charset, maxBytes };
  if (isError) return { type: 'error', code: 'tool_error', message: explainErrorBody(response.status, toReadable(answer)) };
  if (bytes.byteLength === 0) return { type: 'result', value: describeEmpty(response.status) };
  return toOutcome(answer, response.headers['content-length']);
}

function describeEmpty(status: number): string {
  return status === 204 ? '204 No Content: done, there is nothing to return.' : `${status}: done, with an empty answer.`;
}

function toOutcome(answer: Answer, contentLength: string | undefined): ToolOutcome {
  const value = toReadable(answer);
  if (value === undefined) return { type: 'result', value: describeBinary(answer, contentLength) };
  if (!answer.isTruncated || typeof value !== 'string') return { type: 'result', value };
  return { type: 'result', value: markCut(value, answer.maxBytes), isTruncated: true };
}

/** The JSON value or the text of an answer; `undefined` for bytes that are neither. */
function toReadable(answer: Answer): JsonValue | undefined {
  const { bytes, type, charset, isTruncated } = answer;
  const isJsonType = /[/+]json$/.test(type);
  const isTextType =
    isJsonType || /^text\/|[/+](?:xml|yaml|javascript|x-yaml|csv|x-www-form-urlencoded|x-ndjson|jsonl|sql|graphql)$/.test(type);
  const text = isTextType ? decode(bytes, charset) : decodeIfText(bytes, type, isTruncated);
  if (text === undefined) return undefined;
  // A server that does not say what it sends often sends JSON.
  const mayBeJson = isJsonType || (type === '' && /^\s*[[{"]/.test(text));
  const value = mayBeJson && !isTruncated ? tryParse(text) : undefined;
  return value === undefined ? text : value;
}

/** `undefined` for what is not JSON, and for what is nested so deep that whatever reads it next could break. */
function tryParse(text: string): JsonValue | undefined {
  try {
    const hasLongNumber = /\d{16}/.test(text);
    const cleaning = { protoAction: 'remove', constructorAction: 'remove' } as const;
    const value = parse(text, hasLongNumber ? keepDigits : undefined, cleaning) as JsonValue;
    return isDeeperThan(value, limits.jsonDepth) ? undefined : value;
  } catch {
    return undefined;
  }
}

/** Ids of 64 bits lose their last digits as numbers, and the next call would name something else: they stay text. */
function keepDigits(this: unknown, ...[, value, context]: [string, unknown, { source?: string }?]): unknown {
  const isExact = typeof value !== 'number' || !Number.isInteger(value) || Number.isSafeInteger(value);
  return isExact || !/^-?\d+$/.test(context?.source ?? '') ? value : context?.source;
}

function decode(bytes: Uint8Array, charset: string): string {
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
}

/** Text that is called something else: files are often served as `application/octet-stream`. */
function decodeIfText(bytes: Uint8Array, type: string, isTruncated: boolean): string | undefined {
  if (/^(?:image|audio|video|font)\//.test(type)) return undefined;
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: isTruncated });
    // eslint-disable-next-line no-control-regex -- they are what tells binaries from text
    return /[\u0000-\u0008\u000e-\u001a\u001c-\u001f]/.test(text) ? undefined : text;
  } catch {
    return undefined;
  }
}

function describeBinary({ bytes, isTruncated, type }: Answer, contentLength: string | undefined): string {
  const name = /^[\w.+-]+\/[\w.+-]+$/.test(type) ? type : 'application/octet-stream';
  if (!isTruncated && bytes.byteLength <= inlinedBinaryBytes) return `data:${name};base64,${Buffer.from(bytes).toString('base64')}`;
  const announced = /^\d{1,15}$/.test(contentLength ?? '') ? Number(contentLength) : 0;
  const size = isTruncated ? (announced > bytes.byteLength ? `${announced}` : `more than ${bytes.byteLength}`) : `${bytes.byteLength}`;
  return `The server sent a file of the type ${name} with ${size} bytes. It is not text and is not shown.`;
}

/** Cut at a whole character, with the mark inside the limit. */
function markCut(text: string, maxBytes: number): string {
  const mark = `\n[cut: the answer has more than ${maxBytes} bytes]`;
  const bytes = new TextEncoder().encode(text).subarray(0, Math.max(0, maxBytes - mark.length));
  return new TextDecoder().decode(bytes, { stream: true }).replace(/\uFFFD$/, '') + mark;
}
