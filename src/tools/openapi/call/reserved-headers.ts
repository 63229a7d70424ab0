/**
 * Credentials (RFC 9110 sections 7.2, 11), what frames and routes a message (RFC 9112, sections 7.6 and 8.6 of RFC 9110), and what overrides a
 * method on some servers, which would make a write of a read. `accept` and `content-type` are no parameters by the rules of OpenAPI 3.
 */
const reserved = new Set([
  'authorization',
  'cookie',
  'set-cookie',
  'host',
  'content-length',
  'content-type',
  'content-encoding',
  'accept',
  'accept-encoding',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'upgrade',
  'expect',
  'forwarded',
  'via',
  'x-real-ip',
  'cf-connecting-ip',
  'x-http-method',
  'x-http-method-override',
  'x-method-override',
]);

/** Whether a header is never a model's to set. */
export function isReservedHeader(name: string): boolean {
  const lowerCase = name.toLowerCase();
  return reserved.has(lowerCase) || /^(?:x-forwarded-|proxy-)/.test(lowerCase);
}
