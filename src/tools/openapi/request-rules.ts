import { headerName } from '../../shared/text/header-name.ts';

/**
 * Credentials (RFC 9110 sections 7.2, 11), what frames and routes a message (RFC 9112, sections 7.6 and 8.6 of RFC 9110), and what overrides a
 * method on some servers, which would make a write of a read. `accept` and `content-type` are no parameters by the rules of OpenAPI 3.
 */
const reservedHeader = new RegExp(
  '^(?:x-forwarded-.*|proxy-.*|authorization|cookie|set-cookie|host|content-length|content-type|content-encoding|accept|accept-encoding|transfer-encoding' +
    '|connection|keep-alive|te|trailer|upgrade|expect|forwarded|via|x-real-ip|cf-connecting-ip|x-http-method|x-http-method-override|x-method-override)$',
  'i',
);

/** Whether a header is never a model's to set. */
export function isReservedHeader(name: string): boolean {
  return reservedHeader.test(name);
}

/** Whether a header or a cookie may have this name. */
export function isToken(name: string): boolean {
  return headerName.test(name);
}

/**
 * Whether a server may take a segment of a path, decoded, for a step to the same folder or the one above: `.`, `..`, and the same with path
 * parameters, which Tomcat and its kin cut off before they resolve the path (`..;`, `..;x=1`).
 */
export function isDotSegment(segment: string): boolean {
  return /^\.{1,2}(?:;|$)/.test(segment);
}
