/** The secret part of a link to a page (`policy/approvals/approval-links.ts`). */
const linkSecret = /\.[\w-]{43}(?![\w-])/g;

/** The path of a URL as logs and errors may show it: shortened, without the query, and without the secret of a link. */
export function loggedPath(url: string): string {
  return (url.split('?', 1)[0] ?? '').replaceAll(linkSecret, '.[secret]').slice(0, 200);
}
