/** Links of one page or script that are followed. */
const maxLinks = 8;
const textCharacters = 300_000;

/**
 * How pages and their scripts name a document: attributes of Redoc, RapiDoc, Scalar and Elements; `url: "…"` and `schemaUrl = "…"` of Swagger UI and of its
 * configuration in JSON; `Redoc.init("…")`; and RFC 8631.
 */
const namings: readonly RegExp[] = [
  /<link\b(?=[^>]{0,300}\brel\s*=\s*["']?service-desc)[^>]{0,300}\bhref\s*=\s*["']([^"'<>]{1,500})["']/gi,
  /\bRedoc\.init\(\s*["'`]([^"'`<>]{1,500})["'`]/g,
  /["']?\b(?:data|spec|schema|config|definition|document|(?:api-?)?description|open-?api|swagger)?[-_]?url["']?\s{0,20}[:=]\s{0,20}(?:[\w.]{1,40}\(\s{0,20})?["'`]([^"'`<>\s]{1,500})["'`]/gi,
];
/** Scripts in which Swagger UI's distributions have its configuration. */
const configuringScript =
  /<script\b[^>]{0,300}\bsrc\s*=\s*["']([^"'<>]{0,300}(?:swagger(?:-ui)?-init(?:ializer)?|index)\.js(?:\?[^"'<>]{0,100})?)["']/gi;
const isAboutApis = /swagger|redoc|rapidoc|scalar|openapi|elements-api|api-reference|stoplight/i;
const otherFile = /\.(?:css|png|svg|ico|gif|jpe?g|map|woff2?|html?)$|oauth2-redirect/i;

/** Addresses at the page's own origin that may have the document, in the order of the page. Other origins are never asked. */
export function linksOf(text: string, pageUrl: string): string[] {
  const readable = text
    .slice(0, textCharacters)
    .replaceAll(/&(?:quot|#34);/g, '"')
    .replaceAll('&amp;', '&')
    .replaceAll(String.raw`\/`, '/');
  // Other pages name addresses that a request might change something at.
  if (!isAboutApis.test(readable)) return [];
  const named = [...namings, configuringScript].flatMap((pattern) => [...readable.matchAll(pattern)].map(([, address = '']) => address));
  const { origin, pathname } = new URL(pageUrl);
  // Pages are also served without the slash at their end that their relative links rely on.
  const bases = pathname.endsWith('/') ? [pageUrl] : [pageUrl, `${origin}${pathname}/`];
  const links = named.flatMap((address) => bases.map((base) => URL.parse(address, base)));
  const own = links.filter(
    (link) => link !== null && link.origin === origin && link.pathname !== pathname && !otherFile.test(link.pathname),
  );
  return [...new Set(own.map((link) => (link === null ? '' : `${link.origin}${link.pathname}${link.search}`)))].slice(0, maxLinks);
}
