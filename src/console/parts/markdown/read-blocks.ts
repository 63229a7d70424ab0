import { Lexer, Marked, Tokenizer, type Token, type Tokens } from 'marked';
import type { Links } from './links.ts';
import { mathsExtensions } from './read-maths.ts';

/** The depth of nested quotes, lists and emphasis. Deeper ones are plain text, because each level is parsed once more. */
const maxDepth = 12;
/**
 * Characters that are searched for the ends of emphasis in one parse. marked searches the rest of a paragraph for each `*`, `_` and `~`, so some kilobytes of
 * them would block the page for seconds. Beyond this limit they are text.
 */
const maxSearched = 100_000;
/** Characters that are searched for the next span or email address. marked searches everything without a space, again from each mark in it. */
const maxWord = 256;

class BoundedTokenizer extends Tokenizer {
  #depth = 0;
  #searched = 0;

  override blockquote(source: string): Tokens.Blockquote | undefined {
    return this.#within(() => super.blockquote(source));
  }

  override list(source: string): Tokens.List | undefined {
    return this.#within(() => super.list(source));
  }

  override emStrong(source: string, masked: string, before?: string): Tokens.Em | Tokens.Strong | undefined {
    return /^[*_]/.test(source) ? this.#search(source, () => super.emStrong(source, masked, before)) : undefined;
  }

  override del(source: string, masked: string, before?: string): Tokens.Del | undefined {
    return source.startsWith('~') ? this.#search(source, () => super.del(source, masked, before)) : undefined;
  }

  override url(source: string): Tokens.Link | undefined {
    return super.url(/^(?:https?|ftp|www|mailto|xmpp)/i.test(source) ? source : source.slice(0, maxWord));
  }

  override inlineText(source: string): Tokens.Text | undefined {
    return super.inlineText(source.length <= maxWord ? source : source.slice(0, source.lastIndexOf(' ', maxWord) + 1 || maxWord));
  }

  #search<Found extends Token>(source: string, read: () => Found | undefined): Found | undefined {
    if (this.#searched > maxSearched) return undefined;
    const found = this.#within(read);
    this.#searched += (found?.raw ?? source).length;
    return found;
  }

  #within<Found>(read: () => Found | undefined): Found | undefined {
    if (this.#depth >= maxDepth) return undefined;
    this.#depth += 1;
    try {
      return read();
    } finally {
      this.#depth -= 1;
    }
  }
}

const maths = new Marked({ extensions: [...mathsExtensions] }).defaults.extensions;

/** The blocks of a text, in linear time. Links that it defines are added. */
export function readBlocks(text: string, links: Links): Token[] {
  const extensions = /\$|\\[([]/.test(text) ? maths : undefined;
  const lexer = new Lexer({ gfm: true, breaks: false, tokenizer: new BoundedTokenizer(), ...(extensions && { extensions }) });
  lexer.tokens.links = links;
  try {
    return lexer.lex(text);
  } catch {
    return [plainBlock(text)];
  }
}

export function plainBlock(text: string): Tokens.Code {
  return { type: 'code', raw: text, text };
}
