import { OutboundError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import { limits } from '../../core/limits.ts';
import { readText, type OutboundResponse, type SendOutbound, type Trust } from '../../core/outbound.ts';
import { parseDocumentAside } from './parse-document-aside.ts';

/** Where a document lies. `headers` go to that place, whatever its origin: who mixes origins leaves credentials out. */
export interface DocumentPlace {
  url: string;
  path: string;
  headers: Record<string, string>;
  trust: Trust;
}

const usualPlace = 'The document is usually at /openapi.json.';
const accept = 'application/json, application/yaml, text/yaml;q=0.9, */*;q=0.8';

/** `path` may be a full URL; else it stands below `url`, with one slash between, and may have a query of its own. */
export function documentUrl(url: string, path: string): string {
  if (/^https?:\/\//i.test(path)) return path;
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname.replace(/\/+$/, '')}/${path.replace(/^\/+/, '')}`;
}

/**
 * Fetches and parses. Messages name the URL without its query, which may carry a key, and say what to do.
 * @throws OutboundError (`denied`, `unreachable`, `timeout`, …) when it cannot be fetched, Error when what came is no document, the signal's reason.
 */
export async function loadDocument(place: DocumentPlace, send: SendOutbound, signal: AbortSignal): Promise<JsonObject> {
  const url = documentUrl(place.url, place.path);
  const shown = withoutSecrets(url);
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(), limits.documentTimeoutMs);
  try {
    const response = await send({
      method: 'GET',
      url,
      headers: { accept, ...place.headers },
      trust: place.trust,
      signal: AbortSignal.any([signal, deadline.signal]),
      firstByteTimeoutMs: limits.documentTimeoutMs,
      idleTimeoutMs: limits.documentTimeoutMs,
    });
    return await readDocument(response, shown, AbortSignal.any([signal, deadline.signal]));
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

async function readDocument(response: OutboundResponse, url: string, signal: AbortSignal): Promise<JsonObject> {
  const { status, headers, body } = response;
  const problem = statusProblem(status);
  if (problem !== undefined) {
    await discard(body);
    throw new Error(`${url} ${problem}`);
  }
  const { text, isTruncated } = await readText(body, limits.documentBytes);
  if (isTruncated) throw new Error(`${url} is larger than ${limits.documentBytes} bytes, the limit for documents.`);
  if (/^text\/html/i.test(headers['content-type'] ?? '') || /^\s*<(?:!doctype|html)/i.test(text))
    throw new Error(`${url} is an HTML page and not the document: perhaps the page that shows it. ${usualPlace}`);
  try {
    return await parseDocumentAside(text, signal);
  } catch (error) {
    throw new Error(`${url}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

function statusProblem(status: number): string | undefined {
  if (status === 401 || status === 403) return `asks for a credential (HTTP ${status}). Set "auth_type" and "key" of this connection.`;
  if (status === 404) return `does not exist (HTTP 404). ${usualPlace} Set "path" when it lies elsewhere.`;
  if (status >= 200 && status < 300) return undefined;
  return `answered with HTTP ${status}. Does the server work?`;
}

/** Leaving the body at its first piece releases the connection. */
async function discard(body: OutboundResponse['body']): Promise<void> {
  // eslint-disable-next-line no-unreachable-loop -- one piece is enough
  for await (const _piece of body) break;
}

function withoutSecrets(url: string): string {
  const parsed = URL.parse(url);
  return parsed === null ? 'The document' : `${parsed.origin}${parsed.pathname}`;
}
