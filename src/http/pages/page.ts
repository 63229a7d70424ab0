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

// No comments and no untrusted text: the policy allows exactly this text by its digest.
const style = `
:root { color-scheme: light dark; --ground: #fff; --card: #f6f7f9; --text: #1b1f24; --soft: #57606a; --line: #8c959f;
  --good: #1a6a34; --bad: #b3212d; --on-button: #fff; --focus: #0b5cd5 }
@media (prefers-color-scheme: dark) {
  :root { --ground: #14171b; --card: #1e2329; --text: #e8ebee; --soft: #a9b3bd; --line: #6b7682; --good: #56c271; --bad: #ff8a84;
    --on-button: #14171b; --focus: #7db3ff }
}
* { box-sizing: border-box }
body { margin: 0; background: var(--ground); color: var(--text); font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere }
main { max-width: 44rem; margin: 0 auto; padding: 1.25rem 1rem 3rem }
h1 { font-size: 1.5rem; line-height: 1.25; margin: .5rem 0 }
h2, h2 code { font-size: 1.125rem; margin: 0 0 .5rem }
a { color: var(--focus) }
.next { display: inline-block; padding: .5rem 0; font-weight: 600 }
p { margin: .5rem 0 }
.soft, dt { color: var(--soft) }
.card { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: 1rem; margin: 1rem 0 }
.problem { border-left: .3rem solid var(--bad); padding: .25rem .75rem; margin: .75rem 0 }
.state { font-weight: 600 }
.good { color: var(--good) }
.bad { color: var(--bad) }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 0 .75rem; margin: .5rem 0 }
dd { margin: 0 }
code, pre, textarea { font-family: ui-monospace, monospace; font-size: .9rem }
pre { max-height: calc(16lh + 1.2rem); overflow: auto; margin: .5rem 0; padding: .6rem; border: 1px solid var(--line); border-radius: .35rem;
  background: var(--ground); white-space: pre-wrap }
label { display: block; margin: .75rem 0 .25rem }
.check { display: flex; gap: .5rem; align-items: baseline }
textarea { width: 100%; max-height: calc(16lh + 1.2rem); padding: .6rem; border: 1px solid var(--line); border-radius: .35rem; background: var(--ground);
  color: var(--text); resize: vertical }
.choices { display: flex; flex-wrap: wrap; gap: .75rem; margin-top: 1rem }
button { flex: 1 1 8rem; min-height: 2.75rem; padding: .5rem 1rem; border: 2px solid; border-radius: .35rem; font: inherit; font-weight: 600; cursor: pointer }
button[value='approve'] { background: var(--good); border-color: var(--good); color: var(--on-button) }
button[value='reject'] { background: transparent; border-color: var(--bad); color: var(--bad) }
button.unseen { position: absolute; width: 1px; height: 1px; min-height: 0; padding: 0; border: 0; clip-path: inset(50%) }
:focus-visible { outline: 3px solid var(--focus); outline-offset: 2px }
`;

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
