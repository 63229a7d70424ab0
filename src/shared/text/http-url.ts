interface UrlFault {
  problem: string;
  cure: string;
  /** The address may be quoted: it contains no secret. */
  isQuotable: boolean;
}

/** What is wrong with the base address of a server. User information is refused, because it would appear in logs and error messages. */
export function findUrlFault(address: string): UrlFault | undefined {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    return { problem: 'is not an http:// or https:// URL', cure: 'begin it with http:// or https://', isQuotable: true };
  if (url.username !== '' || url.password !== '')
    return { problem: 'contains a user name or password', cure: 'put credentials into the matching key setting', isQuotable: false };
  if (url.search !== '' || url.hash !== '')
    return { problem: 'has a query or fragment', cure: 'set the URL without it', isQuotable: false };
  return undefined;
}
