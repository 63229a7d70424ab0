import { readText, type SendOutbound } from '../../core/outbound.ts';
import { isTextDeeperThan } from '../../shared/json/json-depth.ts';
import { limits } from '../../core/limits.ts';

/** Names, addresses and a few settings. */
const documentBytes = 5 * 1024;
const documentMs = 5_000;

export type FetchDocument = (url: string, headers: Record<string, string>) => Promise<Response>;

/** For the metadata documents of clients, whose addresses anybody may send: only to public ones, without redirects, and over https. */
export function fetchClientDocument(send: SendOutbound): FetchDocument {
  return async (url, headers) => {
    if (!url.startsWith('https://')) throw new Error('A client metadata document has an https address.');
    const {
      status,
      headers: sent,
      body,
    } = await send({
      method: 'GET',
      url,
      headers,
      trust: { kind: 'stranger' },
      signal: AbortSignal.timeout(documentMs),
      firstByteTimeoutMs: documentMs,
      idleTimeoutMs: documentMs,
    });
    const { text, isTruncated } = await readText(body, documentBytes);
    if (isTruncated || isTextDeeperThan(text, limits.jsonDepth)) throw new Error('The client metadata document is too large.');
    return new Response(status === 204 || status === 304 ? null : text, { status, headers: sent });
  };
}
