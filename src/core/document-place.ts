/** Where most servers keep it, and what frontends send when nobody said anything. */
export const usualDocumentPath = 'openapi.json';

/**
 * A tool server's address and the path of its document. People paste the document's own address where the server's is asked for: its last part
 * then is the path, unless another path was given. Slashes at the end of the address stay as they came.
 */
export function toDocumentPlace(url: string, path: string | null | undefined): { url: string; path: string } {
  const wanted = path || usualDocumentPath;
  const pasted = wanted === usualDocumentPath ? /^(?<server>.*[^/])\/+(?<document>[^/?#]+\.(?:json|ya?ml))\/*$/i.exec(url) : null;
  const { server, document } = pasted?.groups ?? {};
  const isBelowHost = server !== undefined && /^https?:\/\/[^/]/i.test(server);
  return isBelowHost && document !== undefined ? { url: server, path: document } : { url, path: wanted };
}
