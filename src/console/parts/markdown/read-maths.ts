import type { TokenizerAndRendererExtension, Tokens } from 'marked';

/** A formula between `$` and `$`, `\(` and `\)`, `$$` and `$$`, or `\[` and `\]`. */
export interface MathsToken extends Tokens.Generic {
  type: 'maths';
  /** In TeX. */
  text: string;
  isBlock: boolean;
}

/** Characters of a formula. A longer one stays text, and so does one whose end is further away. */
const maxInline = 500;
const maxBlock = 4_000;
/** How far the next formula of a paragraph is looked for at a time. Others are found later. */
const maxLookAhead = 4_000;

const ends: Readonly<Record<string, string>> = { $$: '$$', '\\[': '\\]', '\\(': '\\)' };

function readDelimited(source: string, openings: readonly string[]): MathsToken | undefined {
  const opening = openings.find((candidate) => source.startsWith(candidate));
  if (opening === undefined) return undefined;
  const end = source.slice(0, maxBlock).indexOf(ends[opening] ?? opening, opening.length);
  const text = end === -1 ? '' : source.slice(opening.length, end).trim();
  if (text === '' || /\n\s*\n/.test(text)) return undefined;
  return { type: 'maths', raw: source.slice(0, end + opening.length), text, isBlock: opening !== '\\(' };
}

/** Not after a space, and not before a letter or digit, so that `$5 and $6` and `$HOME/bin:$PATH` stay text. */
const betweenDollars = /^\$(?![\s$])((?:\\[^\n]|[^\\$\n])+)\$(?![\w$])/;

function readInline(source: string): MathsToken | undefined {
  const delimited = readDelimited(source, ['$$', '\\(', '\\[']);
  if (delimited !== undefined || !source.startsWith('$')) return delimited;
  const [raw, text] = betweenDollars.exec(source.slice(0, maxInline)) ?? [];
  return raw === undefined || text === undefined || /\s$/.test(text) ? undefined : { type: 'maths', raw, text, isBlock: false };
}

/** For marked. Each looks at a bounded part of the text. */
export const mathsExtensions: readonly TokenizerAndRendererExtension[] = [
  {
    name: 'maths',
    level: 'block',
    start(source) {
      const index = source.slice(0, maxLookAhead).search(/\n {0,3}(?:\$\$|\\\[)/);
      return index === -1 ? undefined : index + 1;
    },
    tokenizer(source) {
      const indent = /^ {0,3}/.exec(source)?.[0] ?? '';
      const found = readDelimited(source.slice(indent.length), ['$$', '\\[']);
      const rest = found && /^[ \t]*(?:\n+|$)/.exec(source.slice(indent.length + found.raw.length));
      return found === undefined || !rest ? undefined : { ...found, raw: indent + found.raw + rest[0] };
    },
  },
  {
    name: 'maths',
    level: 'inline',
    start(source) {
      const index = source.slice(0, maxLookAhead).search(/\$|\\[([]/);
      return index === -1 ? undefined : index;
    },
    tokenizer: readInline,
  },
];
