/** The secret part of a link to a page (`policy/approvals/approval-links.ts`). */
const linkSecret = /\.[\w-]{43}(?![\w-])/g;
/** That of a link to connect is the whole rest of the path. */
const connectLink = /(?<=\/connect\/+).+$/i;

/** As nearly all: nothing in it is a query, or a secret. */
const isPlain = (url: string): boolean => /^[\w/-]{1,200}$/.test(url) && !/\/connect\//i.test(url);

/** The path of a URL as logs and errors may show it: shortened, without the query, and without the secret of a link. */
export function loggedPath(url: string): string {
  if (isPlain(url)) return url;
  return (url.split('?', 1)[0] ?? '').replaceAll(linkSecret, '.[secret]').replace(connectLink, '[secret]').slice(0, 200);
}
