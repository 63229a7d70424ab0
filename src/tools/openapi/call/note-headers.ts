/** Longer ones are made by no server for a reader. */
const headerCharacters = 1_000;
const pageRelation = /;\s*rel="?[^",;]*\b(?:next|prev|previous|first|last)\b/i;

/**
 * What an answer's headers tell a model that the body may not: where the new thing is (RFC 9110 section 10.2.2), when to come back (10.2.3), and
 * where the other pages are (RFC 8288). One line each; `undefined` when there is nothing of the kind.
 */
export function noteHeaders(headers: Record<string, string>): string | undefined {
  const lines = [
    line('Location', headers['location']),
    line('Retry-After', headers['retry-after']),
    line('Link', pageLinks(headers['link'])),
  ];
  const told = lines.filter((text) => text !== undefined);
  return told.length === 0 ? undefined : told.join('\n');
}

function line(name: string, value: string | undefined): string | undefined {
  const text = value?.slice(0, headerCharacters).trim() ?? '';
  return text === '' ? undefined : `${name}: ${text}`;
}

/** Links to style sheets and licences tell a model nothing. */
function pageLinks(value: string | undefined): string | undefined {
  const links = value?.slice(0, headerCharacters * 4).split(/,\s*(?=<)/) ?? [];
  const pages = links.filter((link) => pageRelation.test(link));
  return pages.length === 0 ? undefined : pages.join(', ');
}
