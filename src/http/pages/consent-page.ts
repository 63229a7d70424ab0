import type { Person } from '../../core/callers/people.ts';
import { html, type Html } from './html.ts';
import type { Page } from './page.ts';

/** The program that asks, as it describes itself, and where its answer goes. */
export interface AskingProgram {
  name: string | undefined;
  clientId: string;
  redirectUri: string;
}

/** How the person shows who they are: with a key of the gateway, which the console at this path may have, or by their sign-in there. */
export type ConsentProof = { by: 'key'; console: string } | { by: 'login'; path: string; person?: Person };

export interface ConsentPage {
  program: AskingProgram;
  proof: ConsentProof;
  /** For the form: proves that it comes from this page. */
  token: string;
  /** Why the submitted form was rejected. */
  refused?: string;
}

// No comments and no foreign text, as in `page.ts`.
const style = `
.host { font-size: clamp(1.75rem, 7vw, 2.75rem); font-weight: 700; line-height: 1.15; margin: .25rem 0; overflow-wrap: anywhere }
input { width: 100%; min-height: 2.75rem; padding: .5rem .6rem; border: 1px solid var(--line); border-radius: .35rem; background: var(--ground);
  color: var(--text); font: inherit }
.hint { margin: .25rem 0; font-size: .9rem; color: var(--soft) }
button[value='allow'], a.main { background: var(--accent); border-color: var(--accent); color: var(--on-accent) }
button[value='deny'] { background: transparent }
a.main { display: inline-block; padding: .6rem 1.25rem; border-radius: .35rem; font-weight: 600; text-decoration: none }
`;

/** Asks a person whether a program may use the tools of the gateway for them. */
export function consentPage({ program, proof, token, refused }: ConsentPage): Page {
  const target = targetOf(program.redirectUri);
  const body = html`<h1>Allow access to your tools?</h1>
    <p>A program asks to use the tools of this gateway as you. Your answer goes to</p>
    <p class="host">${target.shown}</p>
    <p>${target.about}</p>
    <section class="card" aria-labelledby="program">
      <h2 id="program">What is known about the program</h2>
      <dl>
        <dt>Its own name</dt>
        <dd>${program.name ?? 'none'}</dd>
        ${
          isDocument(program.clientId) &&
          html`<dt>Described at</dt>
            <dd>${program.clientId}</dd>`
        }
        <dt>It may then</dt>
        <dd>List and call the tools that you may use, within your limits. It cannot change settings, keys or tool servers.</dd>
      </dl>
      <p>
        <strong>Continue only if you have just started this in that program.</strong> Anybody can choose a program's name; nobody else can
        receive what is sent to the address above.
      </p>
    </section>
    ${refused !== undefined && html`<div class="problem" role="alert"><p>${refused}</p></div>`} ${answerForm(proof, token)}
    <p class="soft">You can end the access at any time in the console, under Connected programs.</p>`;
  return { title: 'Allow access', body, style, formTargets: target.sources };
}

function answerForm(proof: ConsentProof, token: string): Html {
  if (proof.by === 'login' && proof.person === undefined)
    return html`<p>Sign in to this gateway first, so that it knows whose tools these are.</p>
      <p><a class="main" href="${proof.path}">Sign in</a></p>
      ${form(token, html`<button type="submit" name="answer" value="deny">Refuse</button>`)}`;
  const choices = html`<button type="submit" name="answer" value="allow">Allow</button>
    <button type="submit" name="answer" value="deny" formnovalidate>Refuse</button>`;
  if (proof.by === 'key')
    return html`${form(
        token,
        choices,
        html`<label for="key">Your key for this gateway</label>
          <input id="key" name="key" type="password" required aria-describedby="key-hint" autocomplete="off" />
          <p class="hint" id="key-hint">
            The program does not get the key. It gets access that ends with the key. Keys usually begin with <code>sk-tw-</code>.
          </p>`,
      )}
      <p><a class="next" href="${proof.console}">Use the key of this browser&rsquo;s console</a></p>`;
  const { id = '', name = id, email } = proof.person ?? {};
  return html`<p>You are signed in as <strong>${[name, email].filter((text) => text !== undefined).join(', ')}</strong>.</p>
    ${form(token, choices)}
    <p><a href="${proof.path}&account=other">Sign in with another account</a></p>`;
}

function form(token: string, choices: Html, fields?: Html): Html {
  return html`<form method="post" autocomplete="off">
    <input type="hidden" name="token" value="${token}" />
    ${fields}
    <div class="choices">${choices}</div>
  </form>`;
}

interface Target {
  /** The largest text of the page. */
  shown: string;
  about: string;
  /** Where the form may lead, as sources of the page's policy: browsers check each redirect of a form. */
  sources: string[];
}

const plainHost = /^[\w.-]+(?::\d+)?$/;

export function targetOf(redirectUri: string): Target {
  const { protocol, host, hostname } = new URL(redirectUri);
  const isWeb = protocol === 'https:' || protocol === 'http:';
  if (!isWeb)
    return {
      shown: `${protocol}//${host}`,
      about: 'This is an app on your device.',
      // A scheme has no other characters (RFC 3986, section 3.1), and the URL parser refuses those that have.
      sources: [protocol],
    };
  const sources = [plainHost.test(host) ? `${protocol}//${host}` : protocol];
  if (protocol === 'http:') return { shown: hostname, about: 'This is a program on your own computer.', sources };
  return { shown: host, about: 'This is the site that will be able to use your tools.', sources };
}

function isDocument(clientId: string): boolean {
  return clientId.startsWith('https://');
}
