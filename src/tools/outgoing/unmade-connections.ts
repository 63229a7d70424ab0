/** Error codes of Node and undici for a connection that was never made, so that nothing of a request was delivered. */
export const unmadeConnections: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'ENODATA',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
  'EMFILE',
  'ENFILE',
]);
