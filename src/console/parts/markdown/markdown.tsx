import type { Token, Tokens } from 'marked';
import { Component, Fragment } from 'preact';
import type { ComponentChild, JSX, VNode } from 'preact';
import { useEffect, useReducer, useRef } from 'preact/hooks';
import { CodeBlock } from '../code-block.tsx';
import { Picture } from '../picture.tsx';
import { inNextFrame, takeCharacters } from './frame-budget.ts';
import { keyInFragment } from '../../api/key-in-fragment.ts';
import { MarkdownReader } from './markdown-reader.ts';
import { Maths } from './maths.tsx';
import type { MathsToken } from './read-maths.ts';
import type { MarkdownBlock, MarkdownPart } from './markdown-reader.ts';

/** The depth of nested quotes and lists. Deeper ones are shown as plain text. */
const maxDepth = 24;

/**
 * The text of a model. Nothing in it is parsed as HTML: tags are shown as text, links only lead to web and email addresses, and external images are links,
 * because loading one would notify its server. A growing text is parsed and rendered from its last block on, and a long one over several frames.
 */
export function Markdown({ text }: { text: string }): JSX.Element {
  const [, redraw] = useReducer((turn: number) => turn + 1, 0);
  const reader = useRef(new MarkdownReader());
  const shown = useRef('');
  if (!text.startsWith(shown.current)) shown.current = '';
  shown.current = text.slice(0, shown.current.length + takeCharacters(text.length - shown.current.length));
  const isWhole = shown.current.length === text.length;
  useEffect(() => (isWhole ? undefined : inNextFrame(() => redraw(undefined))));
  return (
    <div class="markdown">
      {reader.current.read(shown.current).map((part, index) => (
        <MarkdownPartView key={index} part={part} />
      ))}
    </div>
  );
}

/** Only rendered again for another part. */
class MarkdownPartView extends Component<{ part: MarkdownPart }> {
  override shouldComponentUpdate({ part }: { part: MarkdownPart }): boolean {
    return part !== this.props.part;
  }

  override render(): ComponentChild {
    const { blocks } = this.props.part;
    const isContinued = blocks[0]?.isContinued === true;
    return (
      <div class={isContinued ? 'markdown-part continued' : 'markdown-part'}>
        {blocks.map((block, index) => (
          <Block key={index} block={block} />
        ))}
      </div>
    );
  }
}

/** Only rendered again for another block. */
class Block extends Component<{ block: MarkdownBlock }> {
  override shouldComponentUpdate({ block }: { block: MarkdownBlock }): boolean {
    return block !== this.props.block;
  }

  override render(): ComponentChild {
    const { token, isContinued, whole } = this.props.block;
    // The block was split just before its end.
    if (isContinued && isEmpty(token)) return null;
    if (token.type !== 'code' || isFormula(token as Tokens.Code)) return renderBlock(token, 0);
    return (
      <CodeBlock
        code={(token as Tokens.Code).text}
        language={languageOf(token as Tokens.Code)}
        isContinued={isContinued}
        whole={() => whole.finished + whole.open}
      />
    );
  }
}

function isEmpty(token: Token): boolean {
  const { text, rows } = token as { text?: string; rows?: readonly unknown[] };
  return token.type === 'code' ? text === '' : rows?.length === 0;
}

const languageOf = ({ lang }: Tokens.Code): string | undefined => lang?.split(/\s/, 1)[0];

/** As GitHub marks them. */
function isFormula(token: Tokens.Code): boolean {
  return languageOf(token) === 'math' && token.text.trim() !== '';
}

function renderBlock(token: Token, depth: number): ComponentChild {
  if (depth > maxDepth) return <p dir="auto">{token.raw}</p>;
  const known = token as
    | Tokens.Heading
    | Tokens.Paragraph
    | Tokens.Code
    | Tokens.Blockquote
    | Tokens.List
    | Tokens.Table
    | Tokens.Hr
    | Tokens.Space
    | Tokens.Text
    | MathsToken;
  switch (known.type) {
    case 'space':
    case 'def' as never:
      return null;
    case 'heading':
      return renderHeading(known);
    case 'paragraph':
      return <p dir="auto">{renderInline(known.tokens)}</p>;
    case 'maths':
      return <Maths text={known.text} isBlock />;
    case 'code':
      if (isFormula(known)) return <Maths text={known.text} isBlock />;
      return <CodeBlock code={known.text} language={languageOf(known)} />;
    case 'blockquote':
      return <blockquote>{known.tokens.map((inner) => renderBlock(inner, depth + 1))}</blockquote>;
    case 'list':
      return renderList(known, depth);
    case 'table':
      return renderTable(known);
    case 'hr':
      return <hr />;
    case 'text':
      return <>{known.tokens === undefined ? decode(known.text) : renderInline(known.tokens)}</>;
    default:
      // HTML and unknown tokens.
      return <p dir="auto">{token.raw}</p>;
  }
}

/** An answer is part of a page, whose own headings have lower levels. */
function renderHeading({ depth, tokens }: Tokens.Heading): VNode {
  const Tag = `h${Math.min(depth + 2, 6)}` as 'h3';
  return (
    <Tag dir="auto" class={`level-${depth}`}>
      {renderInline(tokens)}
    </Tag>
  );
}

function renderList({ ordered, start, items }: Tokens.List, depth: number): VNode {
  const entries = items.map((item, index) => (
    <li key={index} class={item.task ? 'task' : undefined}>
      {item.task && (
        <input type="checkbox" disabled checked={item.checked === true} aria-label={item.checked === true ? 'Done' : 'Not done'} />
      )}
      {item.tokens.filter(({ type }) => type !== 'checkbox').map((inner) => renderBlock(inner, depth + 1))}
    </li>
  ));
  return ordered ? (
    <ol dir="auto" start={start === '' ? 1 : start}>
      {entries}
    </ol>
  ) : (
    <ul dir="auto">{entries}</ul>
  );
}

function renderTable({ header, rows }: Tokens.Table): VNode {
  return (
    <div class="table-frame" tabIndex={0} role="group" aria-label="Table">
      <table dir="auto">
        <thead>
          <tr>
            {header.map((cell, index) => (
              <th key={index} class={cell.align === null ? undefined : cell.align}>
                {renderInline(cell.tokens)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, column) => (
                <td key={column} class={cell.align === null ? undefined : cell.align}>
                  {renderInline(cell.tokens)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function renderInline(tokens: readonly Token[], depth = 0): ComponentChild {
  return tokens.map((token, index) => <Fragment key={index}>{depth > maxDepth ? token.raw : renderSpan(token, depth)}</Fragment>);
}

function renderSpan(token: Token, depth: number): ComponentChild {
  const known = token as
    | Tokens.Text
    | Tokens.Escape
    | Tokens.Strong
    | Tokens.Em
    | Tokens.Del
    | Tokens.Codespan
    | Tokens.Br
    | Tokens.Link
    | Tokens.Image
    | MathsToken;
  switch (known.type) {
    case 'text':
      return 'tokens' in known && known.tokens !== undefined ? renderInline(known.tokens, depth + 1) : decode(known.text);
    case 'escape':
      return known.text;
    case 'strong':
      return <strong>{renderInline(known.tokens, depth + 1)}</strong>;
    case 'em':
      return <em>{renderInline(known.tokens, depth + 1)}</em>;
    case 'del':
      return <del>{renderInline(known.tokens, depth + 1)}</del>;
    case 'codespan':
      return <code>{known.text}</code>;
    case 'br':
      return <br />;
    case 'maths':
      return <Maths text={known.text} isBlock={known.isBlock} />;
    case 'link':
      return renderLink(known.href, renderInline(known.tokens, depth + 1));
    case 'image':
      return renderImage(known);
    default:
      return token.raw;
  }
}

function renderLink(address: string, content: ComponentChild): ComponentChild {
  const href = safeAddress(decode(address));
  if (href === undefined) return content;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer" title={href}>
      {content}
    </a>
  );
}

const safeSchemes = new Set(['http:', 'https:', 'mailto:']);

/**
 * Undefined unless it is a complete web or email address. `javascript:`, `data:`, and paths, which would lead into the gateway, are not; nor is a link that
 * would give this console another key.
 */
export function safeAddress(address: string): string | undefined {
  if (!URL.canParse(address)) return undefined;
  const url = new URL(address);
  return safeSchemes.has(url.protocol) && !hasKeyForConsole(url) ? url.href : undefined;
}

/** Parsed as the console would parse it, so that no encoding or path makes a difference. */
function hasKeyForConsole({ origin, hash }: URL): boolean {
  return origin === location.origin && keyInFragment(hash) !== null;
}

/** Images that are in the text itself. Not SVG, which is a document. */
const inlineImage = /^data:image\/(?:png|jpeg|gif|webp|avif);base64,[\w+/=]+$/i;

function renderImage({ href, text }: Tokens.Image): ComponentChild {
  if (inlineImage.test(href)) return <Picture src={href} alt={text === '' ? 'Image' : decode(text)} />;
  return renderLink(href, text === '' ? `Image: ${href}` : `Image: ${decode(text)}`);
}

const entities: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: '\u00A0',
  copy: '©',
  hellip: '…',
  mdash: '—',
  ndash: '–',
  rarr: '→',
  larr: '←',
  deg: '°',
  times: '×',
  middot: '·',
  bull: '•',
  euro: '€',
};

/** Replaces character references. Unknown ones stay as they are. */
function decode(text: string): string {
  if (!text.includes('&')) return text;
  return text.replaceAll(/&(?:#(?:\d{1,7}|x[\da-f]{1,6})|[a-z]{2,8});/gi, (whole) => {
    const name = whole.slice(1, -1);
    if (!name.startsWith('#')) return Object.hasOwn(entities, name) ? (entities[name] ?? whole) : whole;
    const point = /^#x/i.test(name) ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
    return point > 0 && point <= 0x10ffff ? String.fromCodePoint(point) : whole;
  });
}
