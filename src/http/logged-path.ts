/** The secret part of a link to a page (`policy/approvals/approval-links.ts`). */
const linkSecret = /\.[\w-]{43}(?![\w-])/g;
/** That of a link to connect is the whole rest of the path. */
const connectLink = /(?<page>\/connect\/+).+$/i;

const shownCharacters = 200;
/** What is looked through: a secret that begins in what is shown ends in it. A path may have 16,000 characters, and comes from anybody. */
const readCharacters = 300;

/** As nearly all: nothing in it is a query, or a secret. */
const isPlain = (url: string): boolean => url.length <= shownCharacters && /^[\w/-]+$/.test(url) && !/\/connect\//i.test(url);

/** The path of a URL as logs and errors may show it: shortened, without the query, and without the secret of a link. */
export function loggedPath(url: string): string {
  if (isPlain(url)) return url;
  const path = url.slice(0, readCharacters).split('?', 1)[0] ?? '';
  return path.replaceAll(linkSecret, '.[secret]').replace(connectLink, '$<page>[secret]').slice(0, shownCharacters);
}
