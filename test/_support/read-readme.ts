/** One line of the settings table. */
export interface SettingRow {
  name: string;
  default: string;
}

/**
 * The rows of the README's tables whose first cell is a variable in backticks and nothing else. Any other row is not a setting.
 * Defaults come without backticks; a dash or nothing means that there is none.
 */
export function settingRows(markdown: string): SettingRow[] {
  return markdown.split('\n').flatMap((line) => {
    const [name = '', value = ''] = cellsOf(line);
    const variable = /^`([A-Z][A-Z0-9_]+)`$/.exec(name)?.[1];
    return variable === undefined ? [] : [{ name: variable, default: plainDefault(value) }];
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

/** Relative paths that the README links to or names: link targets, and code that looks like a file or folder of the project. */
export function namedPaths(markdown: string): string[] {
  const prose = markdown.replaceAll(/^```[\s\S]*?^```/gm, '');
  const links = [...prose.matchAll(/\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)/g)].map((match) => match[1] ?? '');
  const code = [...prose.matchAll(/`([^`\s]+)`/g)].map((match) => match[1] ?? '');
  const files = code.filter(
    (text) => /^(?:src|test|openapi-fixtures|docs|\.ci|\.github)\/[\w./-]*$/.test(text) || /^[A-Z][\w-]*\.md$/.test(text),
  );
  const isRelative = (target: string): boolean =>
    !/^[a-z][a-z0-9+.-]*:/i.test(target) && !target.startsWith('#') && !target.startsWith('//');
  const paths = [...links.filter(isRelative), ...files].map((target) => target.replace(/[#?].*$/, ''));
  return [...new Set(paths)].filter((path) => path !== '');
}
