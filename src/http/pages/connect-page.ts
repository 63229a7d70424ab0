import type { Person } from '../../core/callers/people.ts';
import type { FurtherScopes } from '../../core/sign-in/credentials.ts';
import type { SignInServer } from '../../core/sign-in/sign-in.ts';
import { html, type Html } from './html.ts';
import type { Page } from './page.ts';
import { timeOf } from './time-of.ts';

/** The person that a link connects. `proof`: what proves that it is them. People without a proof of their own are only asked. */
export interface ConnectingPerson {
  proof: 'own machine' | 'key' | 'token' | 'asked';
  /** Absent if the key is a single caller. */
  person?: Person;
  keyName: string;
}

/** The sign-in of this browser, if people sign in to the gateway. */
export interface ConnectLogin {
  /** The path that signs in and returns to this page. */
  path: string;
  /** Whether it is the person that the link connects. */
  isThem: boolean;
  /** Absent if nobody is signed in. */
  person?: Person;
}

export interface ConnectPage {
  who: ConnectingPerson;
  server: SignInServer;
  /** Milliseconds since 1970. */
  expires: number;
  /** For OAuth: the origin of the sign-in page. */
  signsInAt?: string | undefined;
  /** What the sign-in asks for beyond the last one. */
  further?: FurtherScopes | undefined;
  /** Absent if a key, a token, or nothing has to be entered. */
  login?: ConnectLogin | undefined;
  /** Why the submitted form was rejected. */
  refused?: string;
}

// No comments and no foreign text, as in `page.ts`.
const style = `
input { width: 100%; min-height: 2.75rem; padding: .5rem .6rem; border: 1px solid var(--edge); border-radius: 6px; background: var(--ground);
  color: var(--text); font: inherit }
.hint { margin: .25rem 0; font-size: .9rem; color: var(--soft) }
button.main, a.main { background: var(--accent); border-color: var(--accent); color: var(--on-accent) }
a.main { display: inline-block; padding: .6rem 1.25rem; border-radius: .35rem; font-weight: 600; text-decoration: none }
`;

/** An origin may contain a semicolon (WHATWG URL, 3.3), which would start another directive in the policy. */
const plainOrigin = /^https?:\/\/[\w.:[\]-]+$/;

/** A form that connects one person to one tool server. */
export function connectPage({ who, server, expires, signsInAt, further, login, refused }: ConnectPage): Page {
  const { person, keyName, proof } = who;
  const body = html`<h1>Connect to ${server.name}</h1>
    <p>${introductionTo(server, signsInAt)}</p>
    ${further !== undefined && html`<p>${server.name} demands more access than you have granted so far. Continue only if you want your calls to have it.</p>`}
    <section class="card" aria-labelledby="whose">
      <h2 id="whose">${proof === 'asked' ? 'Is this you?' : 'Who will be connected'}</h2>
      <dl>
        ${person !== undefined && facts({ Person: person.name ?? person.id, Email: person.email, ID: person.name === undefined ? undefined : person.id })}
        ${login === undefined && facts({ Key: proof === 'own machine' ? 'none (this gateway is open to its own machine)' : keyName })}
        ${facts({ 'Tool server': `${server.name} (${server.id})`, 'Sign-in at': signsInAt })}
        ${further !== undefined && facts({ 'Access so far': further.held.join(', ') || 'what the server grants to everybody', 'Additional access': further.wanted.join(', ') })}
      </dl>
      ${proof === 'asked' && html`<p><strong>Continue only if this is you and you have just requested this link in your own chat.</strong> Otherwise close this page, or someone else could use the tool server with your account.</p>`}
    </section>
    ${refused !== undefined && html`<div class="problem" role="alert"><p>${refused}</p></div>`}
    ${
      login?.isThem === false
        ? signInFirst(login)
        : html`<form method="post" autocomplete="off">
            ${login === undefined && ownProofField(proof, keyName)} ${server.asks !== 'oauth' && credentialFields(server)}
            <div class="choices"><button type="submit" class="main">${buttonText(proof, server)}</button></div>
          </form>`
    }
    <p class="soft">This link works once and expires on ${timeOf(expires)}.</p>`;
  // `https:` besides the server itself, because Chromium checks each redirect of a form too: many authorization servers redirect to another one.
  const formTargets = signsInAt === undefined ? undefined : [...(plainOrigin.test(signsInAt) ? [signsInAt] : []), 'https:'];
  return { title: `Connect to ${server.name}`, body, style, ...(formTargets && { formTargets }) };
}

function signInFirst({ path, person }: ConnectLogin): Html {
  if (person === undefined)
    return html`<p>Sign in to this gateway first to show that the link is yours.</p>
      <p><a class="main" href="${path}">Sign in</a></p>`;
  const { id, name = id, email } = person;
  return html`<div class="problem" role="alert">
      <p>
        <strong>This link is for someone else.</strong> You are signed in to this gateway as
        ${[name, email, name === id ? undefined : id].filter((text) => text !== undefined).join(', ')}.
      </p>
    </div>
    <p><a class="main" href="${path}&account=other">Sign in with another account</a></p>`;
}

function introductionTo({ asks, name }: SignInServer, signsInAt: string | undefined): string {
  if (asks === 'oauth')
    return `You will sign in at ${signsInAt ?? name} and choose what this gateway may do for you at ${name}. Only calls made for you use this access. The gateway never sees your password.`;
  return 'Only calls made for you to this tool server use what you enter here. The chat that sent you here cannot read it.';
}

function buttonText(proof: ConnectingPerson['proof'], { asks }: SignInServer): string {
  const action = asks === 'oauth' ? 'sign in' : 'connect';
  return proof === 'asked' ? `This is me, ${action}` : asks === 'oauth' ? 'Continue to sign-in' : 'Connect';
}

function facts(values: Readonly<Record<string, string | undefined>>): Html[] {
  return Object.entries(values).flatMap(([name, value]) =>
    value === undefined
      ? []
      : [
          html`<dt>${name}</dt>
            <dd>${value}</dd>`,
        ],
  );
}

function ownProofField(proof: ConnectingPerson['proof'], keyName: string): Html | false {
  if (proof === 'key')
    return html`<label for="own">Your key for this gateway, &ldquo;${keyName}&rdquo;</label>
      <input id="own" name="own" type="password" required aria-describedby="own-hint" autocomplete="off" />
      <p class="hint" id="own-hint">
        It shows that the link is yours, and is sent nowhere else. Keys usually begin with <code>sk-tw-</code>.
      </p>`;
  if (proof === 'token')
    return html`<label for="own">Your token for this gateway</label>
      <input id="own" name="own" type="password" required aria-describedby="own-hint" autocomplete="off" />
      <p class="hint" id="own-hint">The access token that your program sends to this gateway. It shows that the link is yours.</p>`;
  return false;
}

function credentialFields({ name, asks }: SignInServer): Html {
  if (asks === 'basic')
    return html`<label for="user">Your user name at ${name}</label>
      <input id="user" name="user" required spellcheck="false" autocapitalize="none" autocomplete="off" />
      <label for="password">Your password at ${name}</label>
      <input id="password" name="password" type="password" required autocomplete="off" />`;
  return html`<label for="key">Your key for ${name}</label>
    <input id="key" name="key" type="password" required aria-describedby="key-hint" autocomplete="off" />
    <p class="hint" id="key-hint">An access token or API key from ${name}. It is stored encrypted and never shown again.</p>`;
}

/** Shown until it is known where people sign in. */
export function lookingUpPage({ name }: SignInServer, refreshSeconds: number): Page {
  return {
    title: `Connect to ${name}`,
    body: html`<h1>Connect to ${name}</h1>
      <p role="status">The gateway is looking up the sign-in of ${name}. This page continues by itself.</p>`,
    refreshSeconds,
  };
}

export function connectedPage({ name }: SignInServer): Page {
  return {
    title: 'Connected',
    body: html`<h1>Connected to ${name}</h1>
      <p class="state good">You can go back to your chat.</p>
      <p>From now on, calls made for you to this tool server use your own account.</p>`,
  };
}
