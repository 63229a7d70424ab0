import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyPluginAsync, FastifyRequest } from 'fastify';
import { GatewayError } from '../../../core/errors.ts';
import { limits } from '../../../core/limits.ts';
import type { Logins } from '../../../core/sign-in/login.ts';
import { cookieNameAt } from '../../../shared/secrets/browser-secrets.ts';
import { foreignOrigin } from '../../auth/open-mode.ts';
import { cookie, cookiesIn, leavingCookie } from './cookies.ts';
import { installFormPages, originsOf, seeOther } from '../form-pages.ts';
import { publicAddress } from '../../public-address.ts';
import { queryOf } from './query-of.ts';
import { returnPath } from './return-path.ts';

interface LoginRouteOptions {
  /** Undefined: nobody can sign in, because `auth.oidc` names no client. */
  logins: Logins | undefined;
  /** `PUBLIC_URL`. */
  publicUrl: string | undefined;
  /** Milliseconds since 1970. */
  now: () => number;
}

/** Sent only by the console. Pages of other sites would need a preflight for it, which is refused. */
const ownHeader = 'x-toolwharf-console';

/**
 * Signing in to the console at the OpenID provider: `GET /login` leads there and `GET /login/callback` back, `POST /login/token` gives the console's page
 * its access token, `POST /logout` ends it. The cookie works for these two and for the page of a link to connect; the API accepts tokens only in headers.
 */
export const loginRoutes: FastifyPluginAsync<LoginRouteOptions> = async (app, { logins, publicUrl, now }) => {
  const ownOrigins = originsOf(publicUrl);

  function required(): Logins {
    if (logins !== undefined) return logins;
    throw new GatewayError('not_found', 'Signing in with an account is not available, because OIDC_CLIENT_ID is not set. Use a key.');
  }

  await app.register(loginPages, { required, publicUrl });

  app.post('/login/token', async (request, reply) => {
    const found = required();
    refuseOtherPages(request, ownOrigins);
    reply.header('cache-control', 'no-store');
    const address = publicAddress(request.headers, publicUrl);
    const login = loginIn(request.headers, address);
    const token = login === undefined ? undefined : await found.tokenOf(login);
    if (token === undefined) return reply.code(204).send();
    const { accessToken, expires, caller } = token;
    return {
      access_token: accessToken,
      token_type: 'Bearer',
      expires_in: Math.max(Math.floor((expires - now()) / 1_000), 0),
      caller: caller.id,
      person: caller.person,
    };
  });

  app.post('/logout', async (request, reply) => {
    const found = required();
    refuseOtherPages(request, ownOrigins);
    const address = publicAddress(request.headers, publicUrl);
    const login = loginIn(request.headers, address);
    const provider = login === undefined ? undefined : await found.end(login, address);
    if (login !== undefined) request.log.info('signed out');
    return reply
      .headers({ 'cache-control': 'no-store', 'set-cookie': cookie({ name: loginCookieName(address), value: '' }, { address }) })
      .send({ provider: provider ?? null });
  });
};

/** What a browser opens; errors are pages. */
const loginPages: FastifyPluginAsync<{ required: () => Logins; publicUrl: string | undefined }> = async (
  pages,
  { required, publicUrl },
) => {
  installFormPages(pages, { not_found: 'There is no sign-in here', forbidden: 'Not signed in', conflict: 'Not signed in' }, [
    { href: '/', text: 'Back to the console' },
  ]);

  pages.get('/login', async (request, reply) => {
    const query = queryOf(request);
    const found = required();
    // Cookies belong to a host: a browser that used another name of the gateway would come back without them.
    if (isElsewhere(request.headers, publicUrl) && !query.has('moved')) {
      query.set('moved', '1');
      return seeOther(reply, `${publicUrl}/login?${query.toString()}`);
    }
    const address = publicAddress(request.headers, publicUrl);
    const { location, cookie: begun } = await found.begin({
      address,
      returnTo: returnPath(query.get('return_to') ?? undefined),
      wantsOtherAccount: query.get('account') === 'other',
    });
    return seeOther(reply, location, [leavingCookie(begun, address)]);
  });

  pages.get('/login/callback', async (request, reply) => {
    const answer = queryOf(request);
    const found = required();
    // Signed out at the provider, which leads back to the same address.
    if (!['state', 'code', 'error'].some((name) => answer.has(name))) return seeOther(reply, '/');
    const address = publicAddress(request.headers, publicUrl);
    const name = found.cookieName(answer.get('state') ?? '', address);
    const { login, returnTo, caller } = await found.finish(answer, {
      cookie: cookiesIn(request.headers.cookie).get(name),
      before: loginIn(request.headers, address),
    });
    request.log.info({ caller_id: caller.id }, 'signed in');
    const kept = cookie({ name: loginCookieName(address), value: login }, { seconds: limits.loginMs / 1_000, address });
    return seeOther(reply, `${pathIn(publicUrl)}${returnTo}`, [cookie({ name, value: '' }, { address }), kept]);
  });
};

/** What a proxy in front of the gateway takes off the paths of requests. */
function pathIn(publicUrl: string | undefined): string {
  return publicUrl === undefined ? '' : new URL(publicUrl).pathname.replace(/\/$/, '');
}

/** The secret of whoever is signed in in this browser. */
export function loginIn(headers: IncomingHttpHeaders, address: string | undefined): string | undefined {
  const value = cookiesIn(headers.cookie).get(loginCookieName(address));
  return value === '' ? undefined : value;
}

function loginCookieName(address: string | undefined): string {
  return cookieNameAt(address, 'toolwharf-login');
}

function isElsewhere({ host = '' }: IncomingHttpHeaders, publicUrl: string | undefined): boolean {
  return publicUrl !== undefined && host.toLowerCase() !== new URL(publicUrl).host;
}

/**
 * Routes that accept the cookie answer only the console's own page. Browsers send `Sec-Fetch-Site` to https and loopback addresses, and `Origin` with each POST.
 * @throws GatewayError `forbidden`
 */
function refuseOtherPages({ headers }: FastifyRequest, ownOrigins: readonly string[]): void {
  const site = headers['sec-fetch-site'];
  const isOwnSite = site === undefined ? headers.origin !== undefined : site === 'same-origin';
  const isOwn = isOwnSite && (headers.origin === undefined || foreignOrigin(headers, ownOrigins) === undefined);
  if (isOwn && headers[ownHeader] !== undefined) return;
  throw new GatewayError(
    'forbidden',
    'Only the console of this gateway may request this. Programs send their own token as "Authorization: Bearer <token>".',
  );
}
