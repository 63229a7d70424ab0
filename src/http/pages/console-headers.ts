/**
 * The console's page can only run its own files and send requests to this gateway, and cannot parse text as HTML (`require-trusted-types-for`). Results of tools
 * may be `blob:` images.
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

/**
 * Workers have their own policies. The one with the session sends the requests of tools that run in the browser to any server; the others only turn untrusted
 * text and files into something else, and can send nothing.
 */
export function workerPolicy(file: string): string {
  const others = `default-src 'none'; script-src 'self'`;
  return file.startsWith('session-worker-') ? `${others}; connect-src http: https: ws: wss:` : others;
}
