/** The HTTP address that a person has typed or pasted; undefined for what is none. */
export function toHttpUrl(text: string): string | undefined {
  // Quotes and the like come along from a file or a mail.
  const trimmed = text.trim().replaceAll(/^["'`<]+|["'`>,]+$/g, '');
  if (/\s/.test(trimmed)) return undefined;
  const whole = /^[a-z]+:\/\//i.test(trimmed) ? trimmed : `http://${trimmed}`;
  const { protocol, hostname } = URL.canParse(whole) ? new URL(whole) : { protocol: '', hostname: '' };
  return trimmed !== '' && hostname !== '' && (protocol === 'http:' || protocol === 'https:') ? whole : undefined;
}
