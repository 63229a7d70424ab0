import { createHash } from 'node:crypto';
import { OutboundError } from '../../../core/errors.ts';
import { limits } from '../../../core/limits.ts';
import { readBytes, type OutboundResponse, type SendOutbound, type Trust } from '../../../core/outbound.ts';
import type { FetchFile } from '../document/gather-files.ts';
import { openForeignDocument, type DocumentReader } from './open-foreign-document.ts';
import type { DocumentVersion } from '../../definitions/opened-server.ts';
import type { DocumentJob, OpenedDocument } from './open-document.ts';
import { withoutSlashesAtEnd } from '../../../shared/text/document-url.ts';
import { laterLimit } from '../../../shared/async/timer-limits.ts';
import { withoutUndefined } from '../../../shared/json/without-undefined.ts';

/** The server shows its document to nobody without a credential, or does not take this one. */
export class CredentialRefused extends Error {
  readonly reason: 'unauthorized' | 'forbidden';

  constructor(status: 401 | 403, message: string) {
    super(message);
    this.reason = status === 401 ? 'unauthorized' : 'forbidden';
  }
}

/** An address answers, but not with a document. `isMissing`: nothing is there. `page`: the text of the page there. */
export class NoDocument extends Error {
  readonly page: string | undefined;
  readonly isMissing: boolean;

  constructor(message: string, { page, isMissing = false, ...options }: ErrorOptions & { page?: string; isMissing?: boolean } = {}) {
    super(message, options);
    this.page = page;
    this.isMissing = isMissing;
  }
}

/** Where a document is fetched. `headers` are sent whatever the origin: for another origin than the server's the caller leaves credentials out. */
export interface DocumentAddress {
  url: string;
  path: string;
  headers: Record<string, string>;
  /** The user whose session token is sent along. */
  sessionUser?: string | undefined;
  trust: Trust;
}

/** A page, a script or a configuration that names a document does so within these. */
const pageBytes = 300_000;
const usualPath = 'The document is usually at /openapi.json.';
/** A server may have an endpoint at the address, for another method. */
const missing: ReadonlySet<number> = new Set([404, 405, 410]);
const accept = 'application/json, application/yaml, text/yaml;q=0.9, */*;q=0.8';

/** `path` may be a full URL; else it is joined to `url` with one slash, and may have a query. */
export function documentUrl(url: string, path: string): string {
  if (/^https?:\/\//i.test(path)) return path;
  const { origin, pathname } = new URL(url);
  return `${origin}${withoutSlashesAtEnd(pathname)}/${path.replace(/^\/+/, '')}`;
}

export type LoadedDocument = { type: 'loaded'; opened: OpenedDocument; version: DocumentVersion } | { type: 'unchanged' };

export interface LoadOptions {
  /** How it is opened. */
  job: Omit<DocumentJob, 'source' | 'url'>;
  /** Whether files that it refers to are fetched too: only for documents that an administrator registered. */
  takesFiles?: boolean;
  /** The version that was loaded before. */
  known?: DocumentVersion | undefined;
}

/**
 * Fetches, parses and converts. Messages name the URL without its query, which may carry a key, and say what to do.
 * @throws OutboundError (`denied`, `unreachable`, `timeout`, …) when it cannot be fetched, Error when what came is no document, the signal's reason.
 */
export async function loadDocument(
  address: DocumentAddress,
  send: SendOutbound,
  options: LoadOptions & { reader: DocumentReader },
): Promise<LoadedDocument> {
  const { job, takesFiles = false, known, reader } = options;
  const { signal } = reader;
  const url = documentUrl(address.url, address.path);
  const shown = withoutQuery(url);
  const fetched = await fetchBytes({ ...address, url }, send, { signal, known });
  if (fetched === undefined) return { type: 'unchanged' };
  const { bytes, headers, hash } = fetched;
  const version = versionOf(hash, headers);
  if (known?.hash === version.hash) return { type: 'unchanged' };
  if (
    /^text\/html/i.test(headers['content-type'] ?? '') ||
    /^\s*<(?:!doctype|html)/i.test(new TextDecoder().decode(bytes.subarray(0, 200)))
  )
    throw new NoDocument(`${shown} is an HTML page, not the document itself. ${usualPath}`, {
      page: pageIn(bytes),
    });
  const fetchFile: FetchFile = async (file) => {
    const answer = await fetchBytes({ ...address, url: file }, send, { signal });
    if (answer === undefined) throw new Error('the answer is empty');
    return answer.bytes;
  };
  try {
    const opened = await openForeignDocument({ ...job, source: bytes, ...(takesFiles && { url }) }, fetchFile, reader);
    return { type: 'loaded', opened, version };
  } catch (error) {
    signal.throwIfAborted();
    const message = `${shown}: ${error instanceof Error ? error.message : String(error)}`;
    throw new NoDocument(message, { cause: error, page: pageIn(bytes) });
  }
}

function pageIn(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes.subarray(0, pageBytes));
}

/** `hash`: SHA-256, in hexadecimal. */
interface FetchedBytes {
  bytes: Uint8Array;
  hash: string;
  headers: Record<string, string>;
}

/** Undefined when the server says that nothing has changed. */
async function fetchBytes(
  { url, headers, sessionUser, trust }: Omit<DocumentAddress, 'path'>,
  send: SendOutbound,
  { signal, known }: { signal: AbortSignal; known?: DocumentVersion | undefined },
): Promise<FetchedBytes | undefined> {
  const shown = withoutQuery(url);
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(), limits.documentTimeoutMs);
  try {
    const response = await send({
      method: 'GET',
      url,
      headers: { accept, ...conditionOf(known), ...headers },
      sessionUser,
      trust,
      signal: AbortSignal.any([signal, deadline.signal]),
      firstByteTimeoutMs: laterLimit(limits.documentTimeoutMs),
      idleTimeoutMs: laterLimit(limits.documentTimeoutMs),
    });
    return await readAnswer(response, shown);
  } catch (error) {
    signal.throwIfAborted();
    const seconds = limits.documentTimeoutMs / 1000;
    if (deadline.signal.aborted) throw new OutboundError('timeout', `${shown} did not arrive within ${seconds} s.`, error);
    if (error instanceof OutboundError) throw new OutboundError(error.failure, `${shown}: ${error.message}`, error);
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** RFC 9110 sections 13.1.2 and 13.1.3: the date only where there is no tag. */
function conditionOf(known: DocumentVersion | undefined): Record<string, string> {
  if (known?.etag !== undefined) return { 'if-none-match': known.etag };
  return known?.lastModified === undefined ? {} : { 'if-modified-since': known.lastModified };
}

function versionOf(hash: string, { etag, 'last-modified': lastModified }: Record<string, string>): DocumentVersion {
  return { hash, ...withoutUndefined({ etag, lastModified }) };
}

async function readAnswer({ status, headers, body }: OutboundResponse, url: string): Promise<FetchedBytes | undefined> {
  const problem = statusProblem(status);
  if (status === 304 || problem !== undefined) await discard(body);
  if (status === 304) return undefined;
  if (problem !== undefined) {
    const message = `${url} ${problem}${pageHint(url)}`;
    throw status === 401 || status === 403
      ? new CredentialRefused(status, message)
      : new NoDocument(message, { isMissing: missing.has(status) });
  }
  // It never ends.
  if (/^text\/event-stream/i.test(headers['content-type'] ?? '')) {
    await discard(body);
    throw new NoDocument(`${url} is an event stream, not a document.`);
  }
  const hash = createHash('sha256');
  // Piece by piece: hashing a large document at once would block every stream.
  const { bytes, isTruncated } = await readBytes(body, limits.documentBytes, (piece) => hash.update(piece));
  if (isTruncated) throw new Error(`${url} is larger than ${limits.documentBytes} bytes, the limit for documents.`);
  return { bytes, hash: hash.digest('hex'), headers };
}

/** Ending the iteration releases the connection. */
async function discard(body: OutboundResponse['body']): Promise<void> {
  // eslint-disable-next-line no-unreachable-loop -- one piece is enough
  for await (const _piece of body) break;
}

function statusProblem(status: number): string | undefined {
  if (status === 401 || status === 403) return `requires a credential (HTTP ${status}). Set "auth_type" and "key" of this connection.`;
  if (missing.has(status)) return `does not exist (HTTP ${status}). ${usualPath}`;
  if (status >= 200 && status < 300) return undefined;
  return `answered with HTTP ${status}. Check whether the server works.`;
}

/** The query may carry a key. */
export function withoutQuery(url: string): string {
  const parsed = URL.parse(url);
  return parsed === null ? 'The document' : `${parsed.origin}${parsed.pathname}`;
}

/** People copy the address of the page that shows an API. */
function pageHint(url: string): string {
  const [, page] = /\/(docs|redoc|swagger|swagger-ui)\/openapi\.json$/i.exec(url) ?? [];
  return page === undefined ? '' : ` "/${page}" is usually the page that displays an API: register the URL without it.`;
}
