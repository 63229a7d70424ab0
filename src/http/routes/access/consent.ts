import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { hasToken, openCallerId, type Caller } from '../../../core/callers/caller.ts';
import { GatewayError } from '../../../core/errors.ts';
import type { Logins } from '../../../core/sign-in/login.ts';
import type { GrantStore } from '../../../core/stores/grant-store.ts';
import { digestOf } from '../../../shared/secrets/browser-secrets.ts';
import { bearerIn, type Authenticator } from '../../auth/authenticate.ts';
import type { CountedAddress } from '../../authorization-server/address-counts.ts';
import { pathOf, paths } from '../../authorization-server/addresses.ts';
import type { ConsentRequest, RequestProblem } from '../../authorization-server/create-provider.ts';
import { grantBounds } from '../../authorization-server/grant-bounds.ts';
import { grantMs, signedInGrantMs } from '../../authorization-server/lifetimes.ts';
import { installFormPages, originsOf, refuseOtherSites, seeOther, sendPage } from '../form-pages.ts';
import { consentPage, targetOf, type ConsentProof } from '../../pages/consent-page.ts';
import { messagePage, type Page } from '../../pages/page.ts';
import { ownerOf, requireServer, type AuthorizationServerRoutes } from './authorization-server.ts';
import { loginIn } from './login.ts';

interface ConsentRouteOptions extends Omit<AuthorizationServerRoutes, 'counts'> {
  callers: Pick<Authenticator, 'findByToken' | 'isOpen'>;
  /** Where people sign in by OpenID; undefined: they enter a key. */
  logins: Pick<Logins, 'tokenOf'> | undefined;
  store: Pick<GrantStore, 'save'>;
  wrongKeys: CountedAddress;
  /** Called with each person who agrees. */
  onPerson: (caller: Caller) => void;
  /** Of the key with which somebody agrees, if its caller may come to have another one: the access ends with it. */
  keyMark: (callerId: string) => string | undefined;
  /** `TOOLWHARF_SECRET`: signs forms. */
  secret: string;
  /** Milliseconds since 1970. */
  now: () => number;
}

type WithUid = { Params: { uid: string } };

/**
 * `GET /oauth/consent/{uid}` asks a person whether a program may use their tools; it changes nothing. `POST` takes the answer. Both need the cookie of the browser that the
 * program has sent here. The person enters a key of the gateway, or is signed in to the console.
 */
export const consentRoutes: FastifyPluginAsync<ConsentRouteOptions> = async (app, options) => {
  const { provider, callers, logins, store, wrongKeys, keyMark, publicUrl, now } = options;
  const ownOrigins = originsOf(publicUrl);
  const formKey = Buffer.from(hkdfSync('sha256', options.secret, '', 'toolwharf forms of consent v1', 32));
  const tokenFor = (uid: string): string => createHmac('sha256', formKey).update(uid).digest('base64url');
  installFormPages(app, {
    not_found: 'Nothing to decide',
    forbidden: 'Not allowed',
    conflict: 'No key yet',
    rate_limit_exceeded: 'Too many wrong keys',
  });

  /** @throws GatewayError `not_found`, `conflict` */
  async function open(request: FastifyRequest<WithUid>, reply: FastifyReply): Promise<ConsentRequest> {
    requireServer(options);
    const found = await (await provider()).findRequest(request.raw, reply.raw);
    if (found === undefined || found.uid !== request.params.uid)
      throw new GatewayError(
        'not_found',
        'No program is waiting for your answer in this browser. Requests expire after ten minutes. Start again in the program.',
      );
    if (await callers.isOpen())
      throw new GatewayError(
        'conflict',
        'This gateway has no key yet, so a program cannot be given access to it. Create a key in the console, under Keys, and start again in the program.',
      );
    return found;
  }

  async function signedIn(request: FastifyRequest): Promise<Caller | undefined> {
    const login = loginIn(request.headers, publicUrl);
    return login === undefined ? undefined : (await logins?.tokenOf(login))?.caller;
  }

  async function proofFor(request: FastifyRequest<WithUid>): Promise<ConsentProof> {
    if (logins === undefined) return { by: 'key', console: `${pathOf(publicUrl ?? '')}/console/programs?consent=${request.params.uid}` };
    const person = (await signedIn(request))?.person;
    const path = `${publicUrl}/login?return_to=${encodeURIComponent(`${paths.consent}/${request.params.uid}`)}`;
    return { by: 'login', path, ...(person !== undefined && { person }) };
  }

  async function pageFor(request: FastifyRequest<WithUid>, found: ConsentRequest, refused?: string): Promise<Page> {
    const { uid, clientId, clientName, redirectUri } = found;
    const proof = await proofFor(request);
    const program = { name: clientName, clientId, redirectUri };
    return consentPage({ program, proof, token: tokenFor(uid), ...(refused !== undefined && { refused }) });
  }

  /** Who agrees; a text says why nobody does. @throws GatewayError `rate_limit_exceeded` */
  async function agreeing(request: FastifyRequest, form: URLSearchParams): Promise<Caller | string> {
    if (logins !== undefined) return (await signedIn(request)) ?? 'You are not signed in. Sign in first.';
    const address = ownerOf(request);
    wrongKeys.require(address);
    const key = form.get('key')?.trim() ?? bearerIn(request.headers) ?? '';
    const caller = key === '' ? undefined : await findByKey(callers, key, request);
    if (caller === undefined) {
      wrongKeys.count(address);
      return 'This is not a key of this gateway, or it has expired. Nothing was allowed.';
    }
    if (caller.personHeaders !== undefined)
      return `The key “${caller.name ?? caller.id}” speaks for several people, so it cannot agree for one of them. Use a key of your own, or ask the administrator of this gateway to let people sign in by OpenID Connect.`;
    return caller;
  }

  app.get<WithUid>(`${paths.consent}/:uid`, async (request, reply) => {
    const found = await open(request, reply);
    if (!isFromConsole(request)) return sendPage(reply, await pageFor(request, found));
    const { shown, about } = targetOf(found.redirectUri);
    return reply
      .header('cache-control', 'no-store')
      .send({ name: found.clientName ?? null, host: shown, about, token: tokenFor(found.uid) });
  });

  app.post<WithUid>(`${paths.consent}/:uid`, async (request, reply) => {
    refuseOtherSites(request, ownOrigins, 'This form is accepted only from its own page. Start again in the program.');
    const found = await open(request, reply);
    const form = request.body instanceof URLSearchParams ? request.body : new URLSearchParams();
    if (!isSame(form.get('token') ?? '', tokenFor(found.uid)))
      throw new GatewayError('forbidden', 'This form is accepted only from its own page. Start again in the program.');
    const opened = await provider();
    if (form.get('answer') === 'deny') return goOn(request, reply, await opened.deny(request.raw, reply.raw));
    if (form.get('answer') !== 'allow') return sendPage(reply.code(400), await pageFor(request, found, 'Choose one of the two answers.'));
    const caller = await agreeing(request, form);
    if (typeof caller === 'string') return sendPage(reply.code(403), await pageFor(request, found, caller));
    const lifetimeMs = hasToken(caller) ? signedInGrantMs : grantMs;
    const { clientId, clientName, redirectUri } = found;
    const location = await opened.allow(request.raw, reply.raw, {
      callerId: caller.id,
      grantMs: lifetimeMs,
      async describe(id, expires) {
        const grantId = digestOf(id);
        const value = {
          client_id: clientId,
          name: clientName ?? null,
          redirect_uri: redirectUri,
          created: now(),
          key: keyMark(caller.id) ?? null,
        };
        const record = {
          kind: 'authorization',
          id: grantId,
          grantId,
          clientId: digestOf(clientId),
          ownerId: caller.id,
          expires,
          value,
        } as const;
        await store.save(record, { time: now(), ...grantBounds.authorization });
      },
    });
    if (caller.person !== undefined) options.onPerson(caller);
    request.log.info({ caller_id: caller.id, client_id: clientId, redirect_uri: redirectUri }, 'program allowed');
    return goOn(request, reply, location);
  });
};

/** A browser that sends a form is sent on, and the console goes on by itself. */
function goOn(request: FastifyRequest, reply: FastifyReply, location: string): FastifyReply {
  if (!isFromConsole(request)) return seeOther(reply, location);
  return reply.header('cache-control', 'no-store').send({ location });
}

/** The page of the console, which has a key of its own. */
function isFromConsole({ headers }: FastifyRequest): boolean {
  return headers.accept === 'application/json';
}

/** Tokens of an OpenID provider are no keys: whoever has one signs in. */
async function findByKey(callers: Pick<Authenticator, 'findByToken'>, key: string, request: FastifyRequest): Promise<Caller | undefined> {
  try {
    const caller = await callers.findByToken(key, request, false);
    return caller === undefined || hasToken(caller) || caller.id === openCallerId ? undefined : caller;
  } catch (error) {
    if (error instanceof GatewayError && error.status === 401) return undefined;
    throw error;
  }
}

function isSame(one: string, other: string): boolean {
  const [first, second] = [Buffer.from(one), Buffer.from(other)];
  return first.length === second.length && timingSafeEqual(first, second);
}

/** What a person sees if the request of a program is wrong. */
export function failedRequestPage({ code, description, back }: RequestProblem): Page {
  const what = explanations[code] ?? 'The request of the program is not valid.';
  const said = description === undefined ? code : `${code} (${description})`;
  const message = `${what} Start again in the program; if that does not help, tell its maker: ${said}.`;
  const scheme = back === undefined ? undefined : new URL(back);
  const links =
    scheme === undefined ? [] : [{ href: scheme.href, text: `Tell the program, at ${scheme.host === '' ? scheme.protocol : scheme.host}` }];
  return messagePage('The program cannot be connected', message, links);
}

const explanations: Readonly<Record<string, string>> = {
  invalid_client: 'This gateway does not know the program. A registration that nobody has agreed to ends after a day.',
  invalid_redirect_uri: 'The program wants the answer to go to an address that it has not registered.',
  invalid_request: 'The request of the program is not valid, or has expired.',
};
