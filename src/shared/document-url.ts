/** Where most servers keep it, and what frontends send when nobody said anything. */
export const usualDocumentPath = 'openapi.json';

/** Folders that hold documents and no operations, with the version that may follow them (`/swagger/v1/swagger.json`, `/docs/openapi.yaml`). */
const shelf =
  /(?<=[^/])\/+(?<name>(?:\.well-known|api-?docs?|docs?|documentation|openapi|redoc|schemas?|specs?|static|swagger(?:-ui)?)(?:\/+v\d+(?:\.\d+)*)?)$/i;

/**
 * Documents whose names have no ending: of springdoc (`/v3/api-docs`, and `/v3/api-docs/<group>`; its folder is no part of the API) and of NestJS
 * (`/api-json` beside the page `/api`).
 */
const unendedDocument =
  /^(?<folder>.*[^/])\/+(?<document>v\d+\/api-docs(?:\/[^/?#]+)?|(?:api|api-docs|docs|documentation|openapi|swagger)-(?:json|yaml))\/*$/i;
const endedDocument = /^(?<folder>.*[^/])\/+(?<document>[^/?#]+\.(?:json|ya?ml))\/*$/i;

/**
 * A tool server's address and the path of its document. People paste the document's own address where the server's is asked for: its last part
 * then is the path, unless another path was given. The folder is the server's address, for behind a proxy it is the prefix of everything; a folder
 * that is there for documents belongs to the path, because operations without a server of their own are at the root (OpenAPI 3.1.1, section 4.8.1.1).
 * Whoever means another address gives both. Slashes at the end of the address stay as they came.
 */
export function toDocumentUrl(url: string, path: string | null | undefined): { url: string; path: string } {
  const wanted = path || usualDocumentPath;
  const pasted = wanted === usualDocumentPath ? (unendedDocument.exec(url) ?? endedDocument.exec(url)) : null;
  const { folder, document } = pasted?.groups ?? {};
  if (folder === undefined || document === undefined || !isBelowHost(folder)) return { url, path: wanted };
  const held = shelf.exec(folder);
  const server = folder.slice(0, held?.index);
  return held === null || !isBelowHost(server)
    ? { url: folder, path: document }
    : { url: server, path: `${held.groups?.['name']}/${document}` };
}

/** The origin that the document comes from: of the path where it is a full address. Undefined for what is no address. */
export function documentOrigin({ url, path }: { url: string; path: string }): string | undefined {
  return originOf(/^https?:\/\//i.test(path) ? path : url);
}

/** Undefined for what is no address. */
export function originOf(url: string): string | undefined {
  return URL.parse(url.trim())?.origin;
}

function isBelowHost(address: string): boolean {
  return /^https?:\/\/[^/]/i.test(address);
}
