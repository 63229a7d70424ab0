import { lexer } from 'marked';
import type { Token } from 'marked';

/** Beyond this a text is shown as it is: reading it would hold up the page. */
const maxCharacters = 400_000;

export interface MarkdownReader {
  /** The blocks of a text, which is longer each time. Those that cannot change any more stay the same objects, so that they are rendered once. */
  read(text: string): readonly Token[];
}

/** Reads a text that grows. Only what comes after its last finished block is read again. */
export function createMarkdownReader(): MarkdownReader {
  let finished: readonly Token[] = [];
  let finishedText = '';

  return {
    read(text) {
      if (!text.startsWith(finishedText)) [finished, finishedText] = [[], ''];
      if (text.length > maxCharacters) return [plainBlock(text)];
      const open = readBlocks(text.slice(finishedText.length));
      // The last block may go on: a list after an empty line, a table, a fence.
      const last = open.findLastIndex(({ type }) => type !== 'space');
      const done = open.slice(0, Math.max(last, 0));
      // Tabs and line ends may be read as others, and then a block's place in the text is not known.
      const raw = done.map((token) => token.raw).join('');
      if (raw !== '' && text.startsWith(raw, finishedText.length)) {
        finished = [...finished, ...done];
        finishedText += raw;
        return [...finished, ...open.slice(done.length)];
      }
      return [...finished, ...open];
    },
  };
}

/** Nesting beyond what a call stack takes is not meant to be read. */
function readBlocks(text: string): Token[] {
  try {
    return lexer(text, { gfm: true, breaks: false });
  } catch {
    return [plainBlock(text)];
  }
}

function plainBlock(text: string): Token {
  return { type: 'code', raw: text, text };
}
