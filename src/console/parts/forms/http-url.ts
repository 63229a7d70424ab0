/** The HTTP URL that a person typed or pasted. Undefined if it is not one. */
export function toHttpUrl(text: string): string | undefined {
  // Text copied from a file or an email may include quotes.
  const trimmed = text.trim().replaceAll(/^["'`<]+|["'`>,]+$/g, '');
  if (/\s/.test(trimmed)) return undefined;
  const url = /^[a-z]+:\/\//i.test(trimmed) ? trimmed : `http://${trimmed}`;
  const { protocol, hostname } = URL.canParse(url) ? new URL(url) : { protocol: '', hostname: '' };
  return trimmed !== '' && hostname !== '' && (protocol === 'http:' || protocol === 'https:') ? url : undefined;
}
