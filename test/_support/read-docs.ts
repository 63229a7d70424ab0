/** One line of the settings table. */
export interface SettingRow {
  name: string;
  default: string;
  meaning: string;
}

/**
 * The rows of a page's tables whose first cell is a variable in backticks and nothing else. Any other row is not a setting.
 * Defaults come without backticks; a dash or nothing means that there is none.
 */
export function settingRows(markdown: string): SettingRow[] {
  return markdown.split('\n').flatMap((line) => {
    const [name = '', value = '', meaning = ''] = cellsOf(line);
    const variable = /^`([A-Z][A-Z0-9_]+)`$/.exec(name)?.[1];
    return variable === undefined ? [] : [{ name: variable, default: plainDefault(value), meaning }];
  });
}

/** `|` inside a cell is written `\|`. */
function cellsOf(line: string): string[] {
  if (!line.startsWith('|')) return [];
  const cells = line.split(/(?<!\\)\|/).slice(1, -1);
  return cells.map((cell) => cell.trim().replaceAll('\\|', '|'));
}

export function plainDefault(text: string): string {
  const plain = text.replaceAll('`', '').trim();
  return /^[-–—]$/.test(plain) ? '' : plain;
}

/** Targets of the links in the text, without those to the web. Code blocks hold examples, not links. */
export function linksIn(markdown: string): string[] {
  const links = proseOf(markdown).matchAll(/\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)/g);
  const pictures = proseOf(markdown).matchAll(/\bsrc(?:set)?="([^"]+)"/g);
  const targets = [...links, ...pictures].map((match) => match[1] ?? '');
  return [...new Set(targets)].filter((target) => !/^(?:[a-z][a-z0-9+.-]*:|\/\/)/i.test(target));
}

/** Files and folders of the project that the text names in backticks, seen from the project's root. */
export function namedPaths(markdown: string): string[] {
  const code = [...proseOf(markdown).matchAll(/`([^`\s]+)`/g)].map((match) => match[1] ?? '');
  return [...new Set(code)].filter(
    (text) => /^(?:src|test|openapi-fixtures|docs|\.ci|\.github)\/[\w./-]*$/.test(text) || /^[A-Z][\w-]*\.md$/.test(text),
  );
}

/** What a link can point at within a page: its headings, as GitHub and npm write them. */
export function anchorsIn(markdown: string): string[] {
  const taken = new Map<string, number>();
  return [...proseOf(markdown).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) => {
    const text = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').trim();
    const slug = text
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(/\s/g, '-');
    const count = taken.get(slug) ?? 0;
    taken.set(slug, count + 1);
    return count === 0 ? slug : `${slug}-${count}`;
  });
}

function proseOf(markdown: string): string {
  return markdown.replaceAll(/^```[\s\S]*?^```/gm, '');
}
