/** The path of most servers' documents, and the default of frontends. */
export const usualDocumentPath = 'openapi.json';

/** Folders that contain documents but no operations, with an optional version after them (`/swagger/v1/swagger.json`, `/docs/openapi.yaml`). */
const documentFolder =
  /(?<=[^/])\/+(?<name>(?:\.well-known|api-?docs?|docs?|documentation|openapi|redoc|schemas?|specs?|static|swagger(?:-ui)?)(?:\/+v\d+(?:\.\d+)*)?)$/i;

/**
 * Documents without a file extension: of springdoc (`/v3/api-docs`, and `/v3/api-docs/<group>`; its folder is not part of the API) and of NestJS
 * (`/api-json` beside the page `/api`).
 */
const documentWithoutExtension =
  /^(?<folder>.*[^/])\/+(?<document>v\d+\/api-docs(?:\/[^/?#]+)?|(?:api|api-docs|docs|documentation|openapi|swagger)-(?:json|yaml))\/*$/i;
const documentWithExtension = /^(?<folder>.*[^/])\/+(?<document>[^/?#]+\.(?:json|ya?ml))\/*$/i;

/**
 * The URL of a tool server and the path of its document. People often paste the URL of the document instead of the server's: then its last segment
 * becomes the path, unless another path is set. The rest is the server's URL, because behind a proxy it is the prefix of all operations. A folder
 * for documents belongs to the path, because operations without a server object are at the root (OpenAPI 3.1.1, section 4.8.1.1). Setting both
 * overrides this. Trailing slashes of the URL are preserved.
 */
export function toDocumentUrl(url: string, path: string | null | undefined): { url: string; path: string } {
  const wanted = path || usualDocumentPath;
  const pasted = wanted === usualDocumentPath ? (documentWithoutExtension.exec(url) ?? documentWithExtension.exec(url)) : null;
  const { folder, document } = pasted?.groups ?? {};
  if (folder === undefined || document === undefined || !isBelowHost(folder)) return { url, path: wanted };
  const documents = documentFolder.exec(folder);
  const server = folder.slice(0, documents?.index);
  return documents === null || !isBelowHost(server)
    ? { url: folder, path: document }
    : { url: server, path: `${documents.groups?.['name']}/${document}` };
}

/** The origin of the document: that of `path` if it is a full URL, else that of `url`. Undefined for an invalid URL. */
export function documentOrigin({ url, path }: { url: string; path: string }): string | undefined {
  return originOf(/^https?:\/\//i.test(path) ? path : url);
}

/** Undefined for an invalid URL. */
export function originOf(url: string): string | undefined {
  return URL.parse(url.trim())?.origin;
}

function isBelowHost(address: string): boolean {
  return /^https?:\/\/[^/]/i.test(address);
}
