import { hasMoreValuesThan, isTextDeeperThan } from '../../../shared/json/json-depth.ts';
import type { JsonValue } from '../../../shared/json/json.ts';
import { limits } from '../../../core/limits.ts';
import { readBytes, type OutboundResponse } from '../../../core/outbound.ts';
import type { ToolOutcome } from '../../../core/tools/tool.ts';
import { createSecretMask, type SecretMask } from '../../../shared/secrets/secret-mask.ts';
import { decodeText, tryUtf8 } from '../../outgoing/decode-text.ts';
import { explainErrorBody } from './explain-error-body.ts';
import { parseForeign } from '../../../shared/json/parse-exactly.ts';

/** Binary answers up to this size are handed on; a model reads a third more characters, and larger ones would fill its context with noise. */
const inlinedBinaryBytes = 8 * 1024;

/** No header for a reader is longer. */
const headerCharacters = 1_000;
const pageRelation = /;\s*rel="?[^",;]*\b(?:next|prev|previous|first|last)\b/i;

interface Answer {
  bytes: Uint8Array;
  isTruncated: boolean;
  /** Lower case, without parameters; empty when the server does not say. */
  type: string;
  charset: string | undefined;
  headers: Record<string, string>;
}

/**
 * What a server answered, as a model can use it: JSON as its value (as text where it is large), text as text, binaries as files with a sentence (small ones as a `data:` URI,
 * which a model can hand on). Statuses of 400 and above are errors with the server's own words. At most `limits.keptResultBytes` are read; the
 * loop cuts what is more than a model may read at once, and keeps the rest for reading on.
 * `mask` takes the credentials of the call out of values, texts, files and their names; words about errors are the caller's to mask.
 * @throws OutboundError when the connection breaks amid the answer.
 */
export async function readResponse(response: OutboundResponse, mask: SecretMask = createSecretMask([])): Promise<ToolOutcome> {
  const { status, headers } = response;
  const isError = status >= 400;
  const { bytes, isTruncated } = await readBytes(response.body, isError ? limits.upstreamErrorBytes : limits.keptResultBytes);
  const [type = '', ...parameters] = (headers['content-type'] ?? '').split(';').map((part) => part.trim());
  const charset = parameters.find((parameter) => /^charset=/i.test(parameter))?.replace(/^charset=["']?|["']$/gi, '');
  const answer = { bytes, isTruncated, type: type.toLowerCase(), charset, headers };
  if (isError) {
    const message = explainErrorBody(status, toReadable(answer), headers['retry-after']);
    return { type: 'error', code: 'tool_error', message, ...(refusals.has(status) && { isRefused: true }) };
  }
  const note = noteHeaders(headers);
  if (bytes.byteLength === 0)
    return { type: 'result', value: [describeEmpty(status), note].filter((text) => text !== undefined).join('\n') };
  const outcome = toOutcome(answer, mask);
  return note === undefined ? outcome : { ...outcome, note };
}

/** Statuses that blame what was sent. The others concern a credential, a limit, or the API itself. */
const refusals: ReadonlySet<number> = new Set([400, 404, 405, 406, 409, 410, 411, 412, 413, 414, 415, 416, 422, 428]);

function describeEmpty(status: number): string {
  return status === 204 ? '204 No Content: done, there is nothing to return.' : `${status}: done, with an empty answer.`;
}

function toOutcome(answer: Answer, mask: SecretMask): Extract<ToolOutcome, { type: 'result' }> {
  const readable = toReadable(answer);
  if (readable === undefined) return describeBinary(answer, mask);
  const value = mask.value(readable);
  if (!answer.isTruncated || typeof value !== 'string') return { type: 'result', value };
  return { type: 'result', value: `${value}\n[cut: the answer has more than ${limits.keptResultBytes} bytes]`, isTruncated: true };
}

/** The JSON value or the text of an answer; `undefined` for other bytes. */
function toReadable(answer: Answer): JsonValue | undefined {
  const { bytes, type, charset, isTruncated } = answer;
  const isJsonType = /[/+]json$/.test(type);
  const isTextType =
    isJsonType || /^text\/|[/+](?:xml|yaml|javascript|x-yaml|csv|x-www-form-urlencoded|x-ndjson|jsonl|sql|graphql)$/.test(type);
  const text = isTextType ? decodeText(bytes, charset, isTruncated) : decodeIfText(bytes, type, isTruncated);
  if (text === undefined) return undefined;
  // A server that does not say what it sends often sends JSON.
  const mayBeJson = isJsonType || (type === '' && /^\s*[[{"]/.test(text));
  const value = mayBeJson && !isTruncated ? tryParse(text) : undefined;
  return value === undefined ? text : value;
}

/** `undefined` for what is not JSON, and for what is nested so deep, or holds so much, that whatever reads it next could break or stand still. */
function tryParse(text: string): JsonValue | undefined {
  if (isTextDeeperThan(text, limits.jsonDepth) || hasMoreValuesThan(text, limits.resultValues)) return undefined;
  try {
    return parseForeign(text, 'remove');
  } catch {
    return undefined;
  }
}

/** Text that is called something else: files are often served as `application/octet-stream`. */
function decodeIfText(bytes: Uint8Array, type: string, isTruncated: boolean): string | undefined {
  if (/^(?:image|audio|video|font)\//.test(type)) return undefined;
  const text = tryUtf8(bytes, isTruncated);
  // eslint-disable-next-line no-control-regex -- they are what tells binaries from text
  return text === undefined || /[\u0000-\u0008\u000e-\u001a\u001c-\u001f]/.test(text) ? undefined : text;
}

function describeBinary({ bytes, isTruncated, type, headers }: Answer, mask: SecretMask): Extract<ToolOutcome, { type: 'result' }> {
  const known = /^[\w.+-]+\/[\w.+-]+$/.test(type) ? type : 'application/octet-stream';
  const size = sizeOf(bytes.byteLength, isTruncated, headers['content-length']);
  const words = `The server sent a file of the type ${known} with ${size} bytes. It is not text and is not shown.`;
  if (isTruncated) return { type: 'result', value: words };
  const url = `data:${known};base64,${Buffer.from(mask.bytes(bytes)).toString('base64')}`;
  const given = fileName(headers['content-disposition']);
  const name = given === undefined ? undefined : mask.text(given);
  const file = { type: known, url, sizeBytes: bytes.byteLength, ...(name !== undefined && { name }) };
  return { type: 'result', value: bytes.byteLength <= inlinedBinaryBytes ? url : words, files: [file] };
}

function sizeOf(readBytes: number, isTruncated: boolean, contentLength: string | undefined): string {
  if (!isTruncated) return `${readBytes}`;
  const announced = /^\d{1,15}$/.test(contentLength ?? '') ? Number(contentLength) : 0;
  return announced > readBytes ? `${announced}` : `more than ${readBytes}`;
}

/** The last step of `filename` (RFC 6266 section 4.3): a server must not choose a folder. */
function fileName(disposition: string | undefined): string | undefined {
  const extended = /filename\*\s*=\s*utf-8'[^']{0,20}'([^;]{1,500})/i.exec(disposition ?? '')?.[1];
  const plain = /filename\s*=\s*(?:"([^"]{1,200})"|([^;]{1,200}))/i.exec(disposition ?? '');
  const given = extended === undefined ? (plain?.[1] ?? plain?.[2]) : decodeOnce(extended.trim());
  const name = (given === undefined ? undefined : asUtf8(given))
    ?.split(/[/\\]/)
    .at(-1)
    ?.replaceAll(/\p{Cc}/gu, '')
    .trim();
  return name === undefined || name === '' || name === '.' || name === '..' ? undefined : name;
}

/** Headers arrive as Latin-1 (RFC 9110 section 5.5), but most servers write names in UTF-8. */
function asUtf8(text: string): string {
  const codes = Array.from(text, (character) => character.charCodeAt(0));
  if (!codes.some((code) => code > 0x7f) || codes.some((code) => code > 0xff)) return text;
  return tryUtf8(Buffer.from(text, 'latin1'), false) ?? text;
}

function decodeOnce(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * What an answer's headers tell a model that the body may not: where the new thing is (RFC 9110 section 10.2.2), when to come back (10.2.3), and
 * where the other pages are (RFC 8288). One line each; `undefined` when there is nothing of the kind.
 */
function noteHeaders(headers: Record<string, string>): string | undefined {
  const lines = [
    line('Location', headers['location']),
    line('Retry-After', headers['retry-after']),
    line('Link', pageLinks(headers['link'])),
  ];
  const notes = lines.filter((text) => text !== undefined);
  return notes.length === 0 ? undefined : notes.join('\n');
}

function line(name: string, value: string | undefined): string | undefined {
  const text = value?.slice(0, headerCharacters).trim() ?? '';
  return text === '' ? undefined : `${name}: ${text}`;
}

/** Links to style sheets and licences are of no use to a model. */
function pageLinks(value: string | undefined): string | undefined {
  const links = value?.slice(0, headerCharacters * 4).split(/,\s*(?=<)/) ?? [];
  const pages = links.filter((link) => pageRelation.test(link));
  return pages.length === 0 ? undefined : pages.join(', ');
}
