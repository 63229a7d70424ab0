import { hash } from 'node:crypto';
import { Html, html } from './html.ts';

export interface Page {
  title: string;
  body: Html;
  /** The page reloads after this time. */
  refreshSeconds?: number;
  /** Further targets of forms, as sources of the policy. Must not contain untrusted text. */
  formTargets?: readonly string[];
  /** Style of only this page, after the common style. Must not contain untrusted text, because the policy allows it by its digest. */
  style?: string;
}

// The colours and shapes of the console, `src/console/styles`. No comments and no untrusted text: the policy allows exactly this text by its digest.
const style = `
:root { color-scheme: light dark; --ground: light-dark(#faf9f7, #141517); --card: light-dark(#ffffff, #1b1d20);
  --sunken: light-dark(#f2f0ec, #101113); --text: light-dark(#1d1c1a, #e8e6e1); --soft: light-dark(#635f58, #a5a19a);
  --line: light-dark(#e4e0d9, #2d3035); --edge: light-dark(#8d877c, #6f747c); --accent: light-dark(#0d6b63, #4fd1c0);
  --accent-hover: light-dark(#0a5750, #74decf); --on-accent: light-dark(#ffffff, #06211e); --good: light-dark(#1f6b3a, #6ccf8e);
  --bad: light-dark(#b3261e, #ff9a90); --mono: ui-monospace, 'SF Mono', 'Cascadia Code', Menlo, 'DejaVu Sans Mono', monospace }
* { box-sizing: border-box }
body { margin: 0; background: var(--ground); color: var(--text); overflow-wrap: anywhere;
  font: .9375rem/1.55 system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Liberation Sans', sans-serif }
.brand { display: flex; align-items: center; gap: .5rem; max-width: 44rem; margin: 0 auto; padding: 1rem 1rem 0; font-weight: 620 }
.brand rect { fill: var(--accent) }
.brand path { fill: none; stroke: var(--on-accent); stroke-width: 2; stroke-linecap: round; stroke-linejoin: round }
main { max-width: 44rem; margin: 0 auto; padding: 1rem 1rem 3rem }
h1, h2, h3 { font-weight: 620; letter-spacing: -.011em; text-wrap: balance }
h1 { font-size: 1.375rem; line-height: 1.3; margin: .5rem 0 }
h2, h2 code { font-size: 1.0625rem; margin: 0 0 .5rem }
a { color: var(--accent); text-decoration-thickness: 1px; text-underline-offset: 2px }
a:hover { color: var(--accent-hover) }
.next { display: inline-block; padding: .5rem 0; font-weight: 600 }
p { margin: .5rem 0 }
.soft, dt { color: var(--soft) }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 1rem; margin: 1rem 0 }
.problem { border-left: .3rem solid var(--bad); padding: .25rem .75rem; margin: .75rem 0 }
.state { font-weight: 600 }
.good { color: var(--good) }
.bad { color: var(--bad) }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 0 .75rem; margin: .5rem 0 }
dd { margin: 0 }
code, pre, textarea { font-family: var(--mono); font-size: .84rem }
pre { max-height: calc(16lh + 1.2rem); overflow: auto; margin: .5rem 0; padding: .6rem; border: 1px solid var(--line); border-radius: 6px;
  background: var(--sunken); white-space: pre-wrap }
label { display: block; margin: .75rem 0 .25rem }
.check { display: flex; gap: .5rem; align-items: baseline }
.check input { accent-color: var(--accent) }
textarea { width: 100%; max-height: calc(16lh + 1.2rem); padding: .6rem; border: 1px solid var(--edge); border-radius: 6px; background: var(--ground);
  color: var(--text); resize: vertical }
.choices { display: flex; flex-wrap: wrap; gap: .75rem; margin-top: 1rem }
button { flex: 1 1 8rem; min-height: 2.75rem; padding: .5rem 1rem; border: 1px solid var(--edge); border-radius: 8px; background: var(--card);
  color: var(--text); font: inherit; font-weight: 600; cursor: pointer }
button[value='approve'] { background: var(--accent); border-color: var(--accent); color: var(--on-accent) }
button[value='reject'] { border-color: var(--bad); color: var(--bad) }
button.unseen { position: absolute; width: 1px; height: 1px; min-height: 0; padding: 0; border: 0; clip-path: inset(50%) }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px }
`;

/** The mark of the console. */
const brand = new Html(
  '<header class="brand"><svg width="26" height="26" viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="8" />' +
    '<path d="M7 11.500h18M10.500 11.500v9M16 11.500v9M21.500 11.500v9M6.500 24.200c1.600 0 1.600-1.200 3.200-1.200s1.600 1.200 3.200 1.200 ' +
    '1.600-1.200 3.200-1.200 1.600 1.200 3.200 1.200 1.600-1.200 3.200-1.200 1.600 1.200 3.200 1.200" /></svg>toolwharf</header>',
);

/** Nothing is loaded, run or framed. Forms only go to the gateway, and the URL of the page, which may contain a secret, is sent to nobody. */
const headers: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
  'x-robots-tag': 'noindex, nofollow',
};

/** A whole document and its headers. */
export function renderPage({ title, body, refreshSeconds, formTargets = [], style: own }: Page): {
  headers: Readonly<Record<string, string>>;
  document: string;
} {
  const styles = own === undefined ? [style] : [style, own];
  const digests = styles.map((text) => `'sha256-${hash('sha256', text, 'base64')}'`);
  const { markup } = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title} &ndash; toolwharf</title>
        ${styles.map(toElement)}
      </head>
      <body>
        ${brand}
        <main>${body}</main>
      </body>
    </html> `;
  const policy = `default-src 'none'; style-src ${digests.join(' ')}; form-action ${["'self'", ...formTargets].join(' ')}; base-uri 'none'; frame-ancestors 'none'`;
  return {
    headers: { ...headers, 'content-security-policy': policy, ...(refreshSeconds !== undefined && { refresh: String(refreshSeconds) }) },
    document: markup,
  };
}

/** In one piece, because the digest includes white space. */
function toElement(text: string): Html {
  return new Html(`<style>${text}</style>`);
}

/** A link on a page. */
export interface PageLink {
  href: string;
  text: string;
}

/** A page with only a message and links. */
export function messagePage(title: string, message: string, links: readonly PageLink[] = []): Page {
  return {
    title,
    body: html`<h1>${title}</h1>
      <p>${message}</p>
      ${links.map(({ href, text }) => html`<p><a class="next" href="${href}">${text}</a></p>`)}`,
  };
}
