import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import { foreignOrigin } from '../auth/open-mode.ts';
import { leaveBodyUnread } from '../errors/unread-bodies.ts';
import { challengeFor, logError, toGatewayError } from '../errors/error-handler.ts';
import { messagePage, renderPage, type Page, type PageLink } from '../pages/page.ts';

/** For a plugin of pages with forms: in it alone, because everywhere else a form of another site has to be refused. Errors are pages too, with `links`. */
export function installFormPages(
  app: FastifyInstance,
  titles: Partial<Record<GatewayError['code'], string>>,
  links: readonly PageLink[] = [],
): void {
  const parsing = { parseAs: 'string', bodyLimit: limits.smallBodyBytes } as const;
  app.addContentTypeParser<string>('application/x-www-form-urlencoded', parsing, (_, text, done) => done(null, new URLSearchParams(text)));
  app.setErrorHandler((error, request, reply) => {
    const shown = toGatewayError(error, request.id);
    logError(error, shown, { request, reply });
    leaveBodyUnread(request, reply);
    if (shown.retryAfter !== undefined) reply.header('retry-after', shown.retryAfter);
    if (shown.status === 401) reply.header('www-authenticate', challengeFor(request));
    const title = titles[shown.code] ?? (shown.status >= 500 ? 'That did not work' : 'That is not possible');
    return sendPage(reply.code(shown.status), messagePage(title, shown.message, links));
  });
}

export function sendPage(reply: FastifyReply, page: Page): FastifyReply {
  const { headers, document } = renderPage(page);
  return reply.headers(headers).send(document);
}

/** Sends the browser on to an address that may be secret, with cookies. */
export function seeOther(reply: FastifyReply, location: string, cookies: readonly string[] = []): FastifyReply {
  reply.headers({ location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
  if (cookies.length > 0) reply.header('set-cookie', [...cookies]);
  return reply.code(303).send();
}

/** For a link of somebody without a key that was opened elsewhere. Whoever has the link knows already that it leads somewhere. */
export function ownMachineOnly(): GatewayError {
  return new GatewayError(
    'forbidden',
    'Without a key this gateway shows the page to its own machine only, and not through a proxy. Open the link there, with 127.0.0.1 and the port of ' +
      'the gateway in the place of its host. Or have TOOLWHARF_ADMIN_KEY set, and ask again in the chat with that key.',
  );
}

/** Of `PUBLIC_URL`: behind a proxy the gateway sees another `Host` than the browser. */
export function originsOf(publicUrl: string | undefined): readonly string[] {
  return publicUrl === undefined ? [] : [new URL(publicUrl).origin];
}

/**
 * The link of such a page is a secret that no other site knows, so this only makes sure. A page that gives no referrer sends `Origin: null` with its
 * own form; then browsers say in `Sec-Fetch-Site` whether it was its own.
 * @throws GatewayError `forbidden` with this message
 */
export function refuseOtherSites({ headers }: FastifyRequest, ownOrigins: readonly string[], message: string): void {
  const site = headers['sec-fetch-site'];
  const isForeign = site === undefined ? foreignOrigin(headers, [...ownOrigins, 'null']) !== undefined : site !== 'same-origin';
  if (isForeign) throw new GatewayError('forbidden', message);
}
