/** Pages that people sign in for: those of the console, of links to connect, and of programs that ask for access. */
const page = /^\/(?:console(?:\/.*)?|connect\/[\w-]+|oauth\/consent\/[\w-]+)?$/;

/**
 * Where a browser goes when somebody has signed in: the page that they were at. Anything else is the start page, above all what a browser would take
 * for the address of another site, such as `//evil.example`, `/\evil.example` or `/console/..//evil.example`.
 */
export function returnPath(asked: string | undefined): string {
  const base = 'http://gateway.invalid';
  const url = URL.parse(asked ?? '', base);
  return url !== null && url.origin === base && page.test(url.pathname) ? `${url.pathname}${url.search}` : '/';
}
