import { request as requestByHttp } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

/** A page as it is shown: the last answer of a chain of redirects. */
export interface BrowserPage {
  url: string;
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
  /** What its reader reads. */
  text: string;
  forms: PageForm[];
  /** Every address on the way to it, its own last. */
  way: string[];
}

export type ScriptAnswer = Pick<BrowserPage, 'status' | 'headers' | 'body'>;

interface PageForm {
  method: string;
  action: string;
  /** Names and values as the page has them, hidden ones included. */
  fields: Record<string, string>;
  buttons: { name: string; value: string; text: string }[];
}

/**
 * A person's browser, as far as sign-ins need one: it keeps cookies, follows redirects, fills in forms, and refuses what a browser refuses: forms to where
 * the page's `form-action` does not lead (redirects included), and cookies of other sites on posts. It tells `Origin`, `Referer` and `Sec-Fetch-Site`.
 */
export interface ScriptedBrowser {
  /** Types an address, or follows a link of another program. Reloads the page as long as it wants to be. */
  open(url: string): Promise<BrowserPage>;
  /** Presses a button of the page: the one whose text or value is `press`, else its first one. */
  submit(page: BrowserPage, fields?: Record<string, string>, press?: string): Promise<BrowserPage>;
  /** Follows a link, or is sent by a page of another site. */
  follow(page: Pick<BrowserPage, 'url' | 'headers'>, url: string): Promise<BrowserPage>;
  /** What a script of the page sends by `fetch`, with the cookies of the address. */
  send(page: Pick<BrowserPage, 'url' | 'headers'>, route: string, headers?: Record<string, string>): Promise<ScriptAnswer>;
  /** From now on it does not go to this origin, as without a network; undefined: anywhere. */
  refuseTo(origin: string | undefined): void;
  /** The last address that it asked, also in vain. */
  lastTried(): string;
  /** By host and name. */
  cookies: Map<string, Map<string, Cookie>>;
}

interface Cookie {
  value: string;
  path: string;
  sameSite: string;
  isHttpOnly: boolean;
  /** Milliseconds since 1970. */
  expires: number | undefined;
}

interface Navigation {
  method: string;
  url: string;
  body?: string;
  /** The page that it comes from; undefined: typed. */
  from?: Pick<BrowserPage, 'url' | 'headers'>;
}

const mostRedirects = 12;

/**
 * `at`: where hosts of URLs really are, as `http://127.0.0.1:<port>` by origin, for gateways behind a proxy. `ignoresPolicies`: as very old browsers do.
 */
export function scriptedBrowser({
  at = {},
  ignoresPolicies = false,
}: { at?: Record<string, string>; ignoresPolicies?: boolean } = {}): ScriptedBrowser {
  const cookies: ScriptedBrowser['cookies'] = new Map();
  let lastTried = '';
  let closedOrigin: string | undefined;

  async function navigate({ from, ...first }: Navigation): Promise<BrowserPage> {
    let { method, url, body } = first;
    const way: string[] = [];
    /** Worst first: a chain that once left the site stays foreign. */
    let isForeign = from !== undefined && siteOf(from.url) !== siteOf(url);
    for (;;) {
      if (way.length > mostRedirects) throw new Error(`Too many redirects: ${way.join(' → ')}`);
      way.push(url);
      lastTried = url;
      if (new URL(url).origin === closedOrigin) throw new Error(`Did not go to ${url}`);
      isForeign ||= from !== undefined && siteOf(from.url) !== siteOf(url);
      const answer = await send(url, { method, body, from, isForeign });
      keepCookies(new URL(url).hostname, answer.headers['set-cookie'] ?? []);
      const { location } = answer.headers;
      if (answer.status < 300 || answer.status >= 400 || location === undefined)
        return { url, ...answer, way, text: textOf(answer.body), forms: formsOf(answer.body, url) };
      const next = new URL(location, url).href;
      if (from !== undefined && first.method === 'POST' && !ignoresPolicies) requireFormAction(from, next);
      if (answer.status === 303 || method === 'POST') [method, body] = answer.status >= 307 ? [method, body] : ['GET', undefined];
      url = next;
    }
  }

  function send(
    url: string,
    { method, body, from, isForeign }: { method: string; body: string | undefined; from: Navigation['from']; isForeign: boolean },
  ): Promise<Pick<BrowserPage, 'status' | 'headers' | 'body'>> {
    const { host, hostname, pathname } = new URL(url);
    const headers: Record<string, string> = {
      host,
      accept: 'text/html',
      'sec-fetch-mode': 'navigate',
      'sec-fetch-dest': 'document',
      'sec-fetch-site': from === undefined ? 'none' : fetchSite(from.url, url, isForeign),
      ...refererOf(from, url),
      ...(method === 'POST' && { origin: originOf(from), 'content-type': 'application/x-www-form-urlencoded' }),
    };
    const sent = cookiesFor(hostname, { pathname, method, isForeign });
    if (sent !== '') headers['cookie'] = sent;
    return exchange(url, { method, headers, body });
  }

  function exchange(
    url: string,
    { method, headers, body }: { method: string; headers: Record<string, string>; body?: string | undefined },
  ): Promise<ScriptAnswer> {
    const { origin, pathname, search } = new URL(url);
    const { promise, resolve, reject } = Promise.withResolvers<ScriptAnswer>();
    const target = new URL(`${pathname}${search}`, at[origin] ?? origin);
    const request = requestByHttp(target, { method, headers, agent: false, setHost: false }, (response) => {
      text(response).then((read) => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: read }), reject);
    });
    request.on('error', reject);
    request.end(body);
    return promise;
  }

  function cookiesFor(host: string, { pathname, method, isForeign }: { pathname: string; method: string; isForeign: boolean }): string {
    const fitting = [...(cookies.get(host) ?? [])].filter(([, { path, sameSite, expires }]) => {
      if (expires !== undefined && expires <= Date.now()) return false;
      if (isForeign && (sameSite === 'strict' || (sameSite !== 'none' && method !== 'GET'))) return false;
      return path === '/' || pathname === path || pathname.startsWith(path.endsWith('/') ? path : `${path}/`);
    });
    return fitting.map(([name, { value }]) => `${name}=${value}`).join('; ');
  }

  function keepCookies(host: string, lines: readonly string[]): void {
    const jar = cookies.get(host) ?? new Map<string, Cookie>();
    cookies.set(host, jar);
    for (const line of lines) {
      const [pair = '', ...attributes] = line.split(';').map((part) => part.trim());
      const [name = '', ...rest] = pair.split('=');
      const of = (wanted: string): string | undefined =>
        attributes
          .find((attribute) => attribute.toLowerCase().split('=')[0] === wanted)
          ?.split('=')
          .slice(1)
          .join('=');
      const maxAge = of('max-age');
      const date = of('expires');
      const expires = maxAge === undefined ? (date === undefined ? undefined : Date.parse(date)) : Date.now() + Number(maxAge) * 1_000;
      const cookie: Cookie = {
        value: rest.join('='),
        path: of('path') ?? '/',
        sameSite: (of('samesite') ?? 'lax').toLowerCase(),
        isHttpOnly: of('httponly') !== undefined,
        expires,
      };
      if (expires !== undefined && expires <= Date.now()) jar.delete(name);
      else jar.set(name, cookie);
    }
  }

  return {
    cookies,
    lastTried: () => lastTried,
    refuseTo: (origin) => void (closedOrigin = origin),
    async open(url) {
      let page = await navigate({ method: 'GET', url });
      for (let { refresh } = page.headers; refresh !== undefined; { refresh } = page.headers) {
        await sleep(Number(refresh) * 1_000);
        page = await navigate({ method: 'GET', url: page.url });
      }
      return page;
    },
    follow: (page, url) => navigate({ method: 'GET', url, from: page }),
    async send(page, route, own = {}) {
      const [method = 'GET', path = ''] = route.split(' ', 2);
      const url = new URL(path, page.url);
      const isForeign = siteOf(page.url) !== siteOf(url.href);
      const sent = cookiesFor(url.hostname, { pathname: url.pathname, method, isForeign });
      const headers = {
        host: url.host,
        origin: new URL(page.url).origin,
        'sec-fetch-site': fetchSite(page.url, url.href, isForeign),
        'sec-fetch-mode': 'cors',
        ...(sent !== '' && { cookie: sent }),
        ...own,
      };
      const answer = await exchange(url.href, { method, headers });
      keepCookies(url.hostname, answer.headers['set-cookie'] ?? []);
      return answer;
    },
    async submit(page, given = {}, press) {
      const fits = ({ buttons }: PageForm): boolean =>
        press === undefined || buttons.some(({ text: label, value }) => label === press || value === press);
      const form = page.forms.find((candidate) => fits(candidate) && Object.keys(given).every((name) => name in candidate.fields));
      if (form === undefined) throw new Error(`No form with ${Object.keys(given).join(', ')} and ${press ?? 'a button'} in: ${page.text}`);
      const button = form.buttons.find(({ text: label, value }) => press === undefined || label === press || value === press);
      const pressed = button === undefined || button.name === '' ? {} : { [button.name]: button.value };
      const fields = new URLSearchParams({ ...form.fields, ...given, ...pressed }).toString();
      if (!ignoresPolicies) requireFormAction(page, form.action);
      if (form.method === 'POST') return navigate({ method: 'POST', url: form.action, body: fields, from: page });
      return navigate({ method: 'GET', url: `${form.action.split('?')[0]}?${fields}`, from: page });
    },
  };
}

/** Ports do not make another site; 127.0.0.1 and localhost are two. */
function siteOf(url: string): string {
  const { protocol, hostname } = new URL(url);
  return `${protocol}//${hostname}`;
}

function fetchSite(from: string, to: string, isForeign: boolean): string {
  if (isForeign) return 'cross-site';
  return new URL(from).origin === new URL(to).origin ? 'same-origin' : 'same-site';
}

const tellsNothing = ({ headers }: Pick<BrowserPage, 'headers'>): boolean => headers['referrer-policy'] === 'no-referrer';

function originOf(from: Navigation['from']): string {
  return from === undefined || tellsNothing(from) ? 'null' : new URL(from.url).origin;
}

/** By `strict-origin-when-cross-origin`, the rule where a page has no other. */
function refererOf(from: Navigation['from'], url: string): { referer?: string } {
  if (from === undefined || tellsNothing(from)) return {};
  const { origin } = new URL(from.url);
  if (from.headers['referrer-policy'] === 'same-origin' && origin !== new URL(url).origin) return {};
  return { referer: origin === new URL(url).origin ? from.url : `${origin}/` };
}

/** @throws where a browser would show an empty page and a line in its console */
function requireFormAction({ url: from, headers }: Pick<BrowserPage, 'url' | 'headers'>, to: string): void {
  const policy = String(headers['content-security-policy'] ?? '');
  const directive = policy.split(';').find((part) => part.trim().startsWith('form-action'));
  if (directive === undefined) return;
  const { origin, protocol } = new URL(to);
  const sources = directive.trim().split(/\s+/).slice(1);
  const isAllowed = sources.some((source) => {
    if (source === "'self'") return origin === new URL(from).origin;
    return source === origin || source === protocol || (URL.canParse(source) && source !== protocol && new URL(source).origin === origin);
  });
  if (!isAllowed) throw new Error(`The policy of ${from} (${directive.trim()}) does not let its form lead to ${origin}.`);
}

const entities: Record<string, string> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'", '&#x27;': "'" };
const decoded = (html: string): string => html.replaceAll(/&#?\w+;/g, (entity) => entities[entity] ?? entity);

function textOf(html: string): string {
  const main = html.slice(Math.max(0, html.indexOf('<main')));
  return decoded(main.replaceAll(/<(?:style|script)[\s\S]*?<\/(?:style|script)>/g, ' ').replaceAll(/<[^>]*>/g, ' '))
    .replaceAll(/\s+/g, ' ')
    .trim();
}

function formsOf(html: string, url: string): PageForm[] {
  return [...html.matchAll(/<form\b([^>]*)>([\s\S]*?)<\/form>/g)].map(([, attributes = '', inner = '']) => {
    const fields = [...inner.matchAll(/<(?:input|textarea|select)\b([^>]*)>/g)].map(([, field = '']) => field);
    const checked = fields.filter((field) => !/\btype="(?:checkbox|radio)"/.test(field) || /\bchecked\b/.test(field));
    return {
      method: (attribute(attributes, 'method') ?? 'get').toUpperCase(),
      action: new URL(attribute(attributes, 'action') ?? url, url).href,
      fields: Object.fromEntries(checked.map((field) => [attribute(field, 'name') ?? '', attribute(field, 'value') ?? ''])),
      buttons: [...inner.matchAll(/<button\b([^>]*)>([\s\S]*?)<\/button>/g)].map(([, button = '', label = '']) => ({
        name: attribute(button, 'name') ?? '',
        value: attribute(button, 'value') ?? '',
        text: textOf(label),
      })),
    };
  });
}

function attribute(tag: string, name: string): string | undefined {
  const found = new RegExp(`\\b${name}="([^"]*)"`).exec(tag)?.[1];
  return found === undefined ? undefined : decoded(found);
}
