import { Lexer } from 'marked';
import type { Token, Tokens } from 'marked';

/** Beyond this a text is shown as it is: reading it would hold up the page. */
const maxCharacters = 400_000;

export interface MarkdownReader {
  /** The blocks of a text, which is longer each time. Those that cannot change any more stay the same objects, so that they are rendered once. */
  read(text: string): readonly Token[];
}

/** Where the references of a text lead, by their normalised labels. */
type Definitions = Lexer['tokens']['links'];

/** Reads a text that grows. Only what comes after its last finished block is read again. */
export function createMarkdownReader(): MarkdownReader {
  let finished: readonly Token[] = [];
  let finishedText = '';
  /** Of the finished blocks. */
  let definitions = noDefinitions();
  /** Those that the finished blocks were read with: their own, and those of what followed. */
  let used = noDefinitions();

  function forget(): void {
    [finished, finishedText, definitions] = [[], '', noDefinitions()];
  }

  return {
    read(text) {
      if (!text.startsWith(finishedText)) forget();
      if (text.length > maxCharacters) return [plainBlock(text)];
      let open = readBlocks(text.slice(finishedText.length), definitions);
      // A definition may follow what refers to it.
      if (isOtherwise(finishedText, used, open.definitions)) {
        forget();
        open = readBlocks(text, definitions);
      }
      used = open.definitions;
      // The last block may go on: a list after an empty line, a table, a fence.
      const last = open.tokens.findLastIndex(({ type }) => type !== 'space');
      const done = open.tokens.slice(0, Math.max(last, 0));
      // Tabs and line ends may be read as others, and then a block's place in the text is not known.
      const raw = done.map((token) => token.raw).join('');
      if (raw !== '' && text.startsWith(raw, finishedText.length)) {
        finished = [...finished, ...done];
        finishedText += raw;
        for (const token of done) defineIn(definitions, token);
        return [...finished, ...open.tokens.slice(done.length)];
      }
      return [...finished, ...open.tokens];
    },
  };
}

function noDefinitions(): Definitions {
  return Object.create(null) as Definitions;
}

/** Adds those of a block; the first one of a label holds. */
function defineIn(definitions: Definitions, token: Token): void {
  const { type, tag, href, title, tokens, items } = token as Tokens.Generic & { items?: Token[] };
  if (type === 'def') definitions[tag as string] ??= { href: href as string, title: title as string };
  else if (['blockquote', 'list', 'list_item'].includes(type)) for (const inner of tokens ?? items ?? []) defineIn(definitions, inner);
}

/** Whether a text has a reference that leads elsewhere by the second definitions than by the first. */
function isOtherwise(text: string, first: Definitions, second: Definitions): boolean {
  const changed = Object.keys({ ...first, ...second }).filter(
    (label) => first[label]?.href !== second[label]?.href || first[label]?.title !== second[label]?.title,
  );
  if (changed.length === 0 || text === '') return false;
  const normalised = text.toLowerCase().replaceAll(/\s+/g, ' ');
  return changed.some((label) => normalised.includes(`[${label}]`));
}

/** Nesting beyond what a call stack takes is not meant to be read. */
function readBlocks(text: string, before: Definitions): { tokens: Token[]; definitions: Definitions } {
  const lexer = new Lexer({ gfm: true, breaks: false });
  Object.assign(lexer.tokens.links, before);
  try {
    return { tokens: lexer.lex(text), definitions: lexer.tokens.links };
  } catch {
    return { tokens: [plainBlock(text)], definitions: before };
  }
}

function plainBlock(text: string): Token {
  return { type: 'code', raw: text, text };
}
