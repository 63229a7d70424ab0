/** The path of most servers' documents, and the default of frontends. */
export const usualDocumentPath = 'openapi.json';

/**
 * Where frameworks serve their documents: springdoc, Swashbuckle and others, NestJS, ASP.NET, Litestar, drf-spectacular, Fastify, Hono, Elysia, gin-swagger,
 * Quarkus, Spring Boot's older ones, utoipa, Nelmio, API Platform, Scramble, Grape, Phoenix, Gitea, Directus. `openapi.json` is tried before these.
 */
export const usualPlaces = [
  'v3/api-docs',
  'swagger.json',
  'openapi.yaml',
  'api-json',
  'openapi/v1.json',
  'swagger/v1/swagger.json',
  'schema/openapi.json',
  'api/schema/',
  'schema/',
  'documentation/json',
  'doc',
  'openapi/json',
  'swagger/json',
  'swagger/doc.json',
  'q/openapi',
  'openapi',
  'api-docs',
  'v2/api-docs',
  'api-docs/openapi.json',
  'api/openapi.json',
  'docs/openapi.json',
  'docs/json',
  'api/doc.json',
  'docs/api.json',
  'docs.jsonopenapi',
  'swagger/openapi.json',
  'swagger_doc',
  'api/openapi',
  'docs-json',
  'swagger.yaml',
  'swagger.v1.json',
  'server/specs/oas',
];

/** Folders that contain documents but no operations, with an optional version after them (`/swagger/v1/swagger.json`, `/docs/openapi.yaml`). */
const documentFolder =
  /(?<=[^/])\/+(?<name>(?:\.well-known|api-?docs?|docs?|documentation|openapi|redoc|schemas?|specs?|static|swagger(?:-ui)?)(?:\/+v\d+(?:\.\d+)*)?)$/i;

/**
 * Documents without a file extension: of springdoc (`/v3/api-docs`, and `/v3/api-docs/<group>`; its folder is not part of the API) and of NestJS
 * (`/api-json` beside the page `/api`).
 */
const documentWithoutExtension = /^(?:v\d+\/api-docs(?:\/[^/?#]+)?|(?:api|api-docs|docs|documentation|openapi|swagger)-(?:json|yaml))$/i;
const documentWithExtension = /^[^/?#]+\.(?:json|ya?ml)$/i;
const longestFirst = usualPlaces.map((place) => place.replace(/\/$/, '')).toSorted((a, b) => b.length - a.length);
/** Parts of a path that the longest of these has. */
const documentParts = 3;

/**
 * The URL of a tool server and the path of its document. People often paste the URL of the document instead of the server's: then its last segment
 * becomes the path, unless another path is set. The rest is the server's URL, because behind a proxy it is the prefix of all operations. A folder
 * for documents belongs to the path, because operations without a server object are at the root (OpenAPI 3.1.1, section 4.8.1.1). Setting both
 * overrides this. Trailing slashes of the URL are preserved.
 */
export function toDocumentUrl(url: string, path: string | null | undefined): { url: string; path: string } {
  const wanted = path || usualDocumentPath;
  const pasted = wanted === usualDocumentPath ? documentAtEnd(url) : undefined;
  if (pasted === undefined || !isBelowHost(pasted.folder)) return { url, path: wanted };
  const { folder, document } = pasted;
  const documents = documentFolder.exec(folder);
  const server = folder.slice(0, documents?.index);
  return documents === null || !isBelowHost(server)
    ? { url: folder, path: document }
    : { url: server, path: `${documents.groups?.['name']}/${document}` };
}

/** The server of a document whose address has no file extension: the address without a usual path, or without its last segment and the folders of documents. */
export function serverOfDocument(address: string): string {
  const { origin, pathname } = new URL(address);
  const path = withoutSlashesAtEnd(pathname);
  const usual = longestFirst.find((place) => path.endsWith(`/${place}`));
  if (usual !== undefined) return `${origin}${path.slice(0, -usual.length - 1)}`;
  const folder = `${origin}${path.slice(0, path.lastIndexOf('/'))}`;
  const server = folder.slice(0, documentFolder.exec(folder)?.index);
  return isBelowHost(server) ? server : folder;
}

/** A pattern for all of it would go through a long run of slashes again from each of them. */
function documentAtEnd(url: string): { folder: string; document: string } | undefined {
  const whole = withoutSlashesAtEnd(url);
  const places: number[] = [];
  for (let at = whole.lastIndexOf('/'); at > 0 && places.length < documentParts; at = whole.lastIndexOf('/', at - 1)) places.push(at);
  const endings = places.map((at) => ({ folder: withoutSlashesAtEnd(whole.slice(0, at)), document: whole.slice(at + 1) }));
  return (
    endings.find(({ document }) => documentWithoutExtension.test(document)) ??
    endings.find(({ document }) => documentWithExtension.test(document))
  );
}

/** In one pass, as `/\/+$/` is not: it begins anew at each slash. */
export function withoutSlashesAtEnd(text: string): string {
  let end = text.length;
  while (text[end - 1] === '/') end -= 1;
  return text.slice(0, end);
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
