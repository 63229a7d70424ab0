/**
 * The console's page runs its own files alone, asks this gateway alone, and parses no text as HTML: `require-trusted-types-for` makes the browser
 * refuse it. `blob:` pictures are results of tools.
 */
const policy = [
  `default-src 'none'`,
  `script-src 'self'`,
  `style-src 'self'`,
  `img-src 'self' data: blob:`,
  `connect-src 'self'`,
  `worker-src 'self'`,
  `form-action 'self'`,
  `base-uri 'none'`,
  `frame-ancestors 'none'`,
  `require-trusted-types-for 'script'`,
  `trusted-types toolwharf`,
].join('; ');

export const consoleHeaders: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': policy,
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  'cache-control': 'no-cache',
};

/** A worker has a policy of its own: it sends the requests of tools that run in the browser, wherever their servers are. */
export const workerPolicy = `default-src 'none'; script-src 'self'; connect-src http: https: ws: wss:`;
