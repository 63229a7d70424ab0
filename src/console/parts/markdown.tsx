import type { Token, Tokens } from 'marked';
import { Component, Fragment } from 'preact';
import type { ComponentChild, JSX, VNode } from 'preact';
import { useRef } from 'preact/hooks';
import { CodeBlock } from './code-block.tsx';
import { createMarkdownReader } from './markdown-tokens.ts';
import type { MarkdownReader } from './markdown-tokens.ts';

/** Quotes and lists within each other; what is deeper is shown as it was written. */
const maxDepth = 24;

/**
 * A text of a model. Nothing of it is parsed as HTML: tags are shown as text, links lead to web and mail addresses only, and pictures from elsewhere are
 * links, because loading one would tell its server. A text that grows is read and rendered from its last block on.
 */
export function Markdown({ text }: { text: string }): JSX.Element {
  const reader = useRef<MarkdownReader>();
  reader.current ??= createMarkdownReader();
  return (
    <div class="markdown">
      {reader.current.read(text).map((token, index) => (
        <Block key={index} token={token} />
      ))}
    </div>
  );
}

/** Rendered again only for another token. */
class Block extends Component<{ token: Token }> {
  override shouldComponentUpdate({ token }: { token: Token }): boolean {
    return token !== this.props.token;
  }

  override render(): ComponentChild {
    return renderBlock(this.props.token, 0);
  }
}

function renderBlock(token: Token, depth: number): ComponentChild {
  if (depth > maxDepth) return <p>{token.raw}</p>;
  const known = token as
    | Tokens.Heading
    | Tokens.Paragraph
    | Tokens.Code
    | Tokens.Blockquote
    | Tokens.List
    | Tokens.Table
    | Tokens.Hr
    | Tokens.Space
    | Tokens.Text;
  switch (known.type) {
    case 'space':
    case 'def' as never:
      return null;
    case 'heading':
      return renderHeading(known);
    case 'paragraph':
      return <p>{renderInline(known.tokens)}</p>;
    case 'code':
      return <CodeBlock code={known.text} language={known.lang?.split(/\s/, 1)[0]} />;
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
      // HTML and whatever else is new.
      return <p>{token.raw}</p>;
  }
}

/** An answer is part of a page, whose own headings come first. */
function renderHeading({ depth, tokens }: Tokens.Heading): VNode {
  const Tag = `h${Math.min(depth + 2, 6)}` as 'h3';
  return <Tag class={`level-${depth}`}>{renderInline(tokens)}</Tag>;
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
  return ordered ? <ol start={start === '' ? 1 : start}>{entries}</ol> : <ul>{entries}</ul>;
}

function renderTable({ header, rows }: Tokens.Table): VNode {
  return (
    <div class="table-frame" tabIndex={0} role="group" aria-label="Table">
      <table>
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
    | Tokens.Image;
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

/** Undefined for what is no whole address of the web or of mail: `javascript:`, `data:`, and paths, which would lead into the gateway. */
export function safeAddress(address: string): string | undefined {
  if (!URL.canParse(address)) return undefined;
  const url = new URL(address);
  return safeSchemes.has(url.protocol) ? url.href : undefined;
}

/** Pictures that are in the text itself. Not SVG, which is a document. */
const ownPicture = /^data:image\/(?:png|jpeg|gif|webp|avif);base64,[\w+/=]+$/i;

function renderImage({ href, text }: Tokens.Image): ComponentChild {
  if (ownPicture.test(href)) return <img src={href} alt={decode(text)} loading="lazy" />;
  return renderLink(href, text === '' ? `picture: ${href}` : `picture: ${decode(text)}`);
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

/** Character references as the characters that they mean; unknown ones stay as they are. */
function decode(text: string): string {
  if (!text.includes('&')) return text;
  return text.replaceAll(/&(?:#(?:\d{1,7}|x[\da-f]{1,6})|[a-z]{2,8});/gi, (whole) => {
    const name = whole.slice(1, -1);
    if (!name.startsWith('#')) return Object.hasOwn(entities, name) ? (entities[name] ?? whole) : whole;
    const point = /^#x/i.test(name) ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
    return point > 0 && point <= 0x10ffff ? String.fromCodePoint(point) : whole;
  });
}
