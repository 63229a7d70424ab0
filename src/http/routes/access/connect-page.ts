import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { hasToken, openCallerId, type Caller } from '../../../core/callers/caller.ts';
import { GatewayError } from '../../../core/errors.ts';
import { limits } from '../../../core/limits.ts';
import { personIdOf } from '../../../core/callers/people.ts';
import type { Logins } from '../../../core/sign-in/login.ts';
import type { OpenSignIn, SignIns, SignInServer } from '../../../core/sign-in/sign-in.ts';
import { tokenOf, type Authenticator } from '../../auth/authenticate.ts';
import { leavingCookie } from './cookies.ts';
import { installFormPages, originsOf, ownMachineOnly, refuseOtherSites, seeOther, sendPage } from '../form-pages.ts';
import {
  connectedPage,
  connectPage,
  lookingUpPage,
  type ConnectingPerson,
  type ConnectLogin,
  type ConnectPage,
} from '../../pages/connect-page.ts';
import type { Page } from '../../pages/page.ts';
import { parseInput } from '../../parse-input.ts';
import { publicAddress, publicPath } from '../../public-address.ts';
import { givenKey } from './credentials.ts';
import { loginIn } from './login.ts';

interface ConnectPageOptions {
  signIns: SignIns;
  callers: Pick<Authenticator, 'findById' | 'findByToken' | 'isOpen'>;
  /** Undefined: people with tokens have to paste one. */
  logins: Pick<Logins, 'tokenOf'> | undefined;
  /** `PUBLIC_URL`. */
  publicUrl: string | undefined;
}

type WithLink = { Params: { link: string } };

/** How long a page waits for a tool server and its authorization server. Then it appears without their answers, and reloads. */
const lookUpMs = 1_000;
const reloadSeconds = 1;

/**
 * `GET /connect/{link}` shows for whom a link connects to which tool server; it changes nothing, because previews of links fetch it too. `POST` takes the
 * form, and uses the link up. Whoever has a key or token of their own has to show it, or be signed in in this browser; people behind a key, who have none, are
 * named and asked.
 */
export const connectPageRoutes: FastifyPluginAsync<ConnectPageOptions> = async (app, { signIns, callers, logins, publicUrl }) => {
  const ownOrigins = originsOf(publicUrl);
  installFormPages(app, { not_found: 'Nothing to connect', conflict: 'No longer valid', forbidden: 'Sent from another page' });

  /** @throws GatewayError */
  async function open(request: FastifyRequest<WithLink>): Promise<{ signIn: OpenSignIn; caller: Caller; server: SignInServer }> {
    const signIn = await signIns.find(request.params.link);
    const caller = await callers.findById(signIn.callerId, request);
    if (caller === undefined && signIn.callerId === openCallerId && (await callers.isOpen())) throw ownMachineOnly();
    if (caller === undefined)
      throw new GatewayError('not_found', 'The key that this link was made for is no longer valid. Ask for a new link in your chat.');
    return { signIn, caller, server: await signIns.serverOf(caller, signIn.server) };
  }

  /** For those with a token: who is signed in in this browser, where that is possible. */
  async function whoSignsIn(caller: Caller, request: FastifyRequest<WithLink>): Promise<ConnectLogin | undefined> {
    if (logins === undefined || !hasToken(caller)) return undefined;
    const login = loginIn(request.headers, publicAddress(request.headers, publicUrl));
    const found = login === undefined ? undefined : (await logins.tokenOf(login))?.caller;
    const path = `${publicPath(publicUrl)}/login?return_to=${encodeURIComponent(`/connect/${request.params.link}`)}`;
    return { path, isThem: found?.id === caller.id, ...(found?.person !== undefined && { person: found.person }) };
  }

  /** The page of a link. */
  async function pageFor(caller: Caller, page: Omit<ConnectPage, 'signsInAt' | 'further'>): Promise<Page> {
    const { id, asks } = page.server;
    if (asks !== 'oauth') return connectPage(page);
    const signsInAt = await signIns.whereToSignIn(caller, id, lookUpMs);
    if (signsInAt === undefined) return lookingUpPage(page.server, reloadSeconds);
    return connectPage({ ...page, signsInAt, further: await signIns.furtherScopes(caller, id) });
  }

  app.get<WithLink>('/connect/:link', async (request, reply) => {
    const { signIn, caller, server } = await open(request);
    const login = await whoSignsIn(caller, request);
    return sendPage(reply, await pageFor(caller, { who: whoIs(caller, signIn), server, expires: signIn.expires, login }));
  });

  app.post<WithLink>('/connect/:link', async (request, reply) => {
    refuseOtherSites(request, ownOrigins, 'This form is accepted only from its own page. Open the link in the chat, and connect there.');
    const { signIn, caller, server } = await open(request);
    const who = whoIs(caller, signIn);
    const login = await whoSignsIn(caller, request);
    const refuse = async (status: number, refused: string): Promise<FastifyReply> => {
      return sendPage(reply.code(status), await pageFor(caller, { who, server, expires: signIn.expires, login, refused }));
    };
    const form = parseForm(request.body);
    const isToProve = who.proof === 'key' || (who.proof === 'token' && login?.isThem !== true);
    if (isToProve && !(await isProven(callers, caller, { request, own: form.own })))
      return refuse(
        403,
        login === undefined ? `This is not the ${who.proof} that the link was made for. Nothing was stored.` : 'Nothing was stored.',
      );
    if (server.asks === 'oauth') {
      const address = publicAddress(request.headers, publicUrl);
      const { location, cookie } = await signIns.begin(signIn, caller, address);
      request.log.info({ server: server.id, caller_id: caller.id }, 'sign-in begun');
      return seeOther(reply, location, [leavingCookie(cookie, address)]);
    }
    const key = keyIn(form, server);
    if (typeof key !== 'string') return refuse(400, key.refused);
    await signIns.enterKey(signIn, caller, key);
    request.log.info({ server: server.id, caller_id: caller.id, over: 'page' }, 'credential stored');
    return sendPage(reply, connectedPage(server));
  });
};

/** Whether the request shows the key or token of the caller itself, in a header or in the form. */
async function isProven(
  callers: ConnectPageOptions['callers'],
  { id }: Caller,
  { request, own }: { request: FastifyRequest; own: string | undefined },
): Promise<boolean> {
  const token = own?.trim() ?? tokenOf(request.headers);
  if (token === undefined || token === '') return false;
  try {
    return (await callers.findByToken(token, request, false))?.id === id;
  } catch (error) {
    if (error instanceof GatewayError && error.status === 401) return false;
    throw error;
  }
}

function whoIs(caller: Caller, { person }: OpenSignIn): ConnectingPerson {
  const keyName = caller.name ?? caller.id;
  if (caller.id === openCallerId) return { proof: 'own machine', keyName };
  if (hasToken(caller))
    return { proof: 'token', keyName: 'none: a sign-in by OpenID', person: { ...person, id: personIdOf(caller.id) ?? caller.id } };
  const id = personIdOf(caller.id);
  return id === undefined ? { proof: 'key', keyName } : { proof: 'asked', keyName, person: { ...person, id } };
}

const field = z.string().max(limits.credentialCharacters).optional();
const formSchema = z.object({ own: field, key: field, user: field, password: field });
type ConnectForm = z.infer<typeof formSchema>;

/** @throws GatewayError `invalid_request`, `unsupported_media_type` */
function parseForm(body: unknown): ConnectForm {
  if (body instanceof URLSearchParams) return parseInput(formSchema, Object.fromEntries(body), 'the form of this page');
  throw new GatewayError('unsupported_media_type', 'Use the form on this page. Programs use PUT /api/credentials/{server} {"key": "…"}.');
}

/** Spaces around a key that was pasted are none of it. */
function keyIn({ key = '', user = '', password = '' }: ConnectForm, { asks }: SignInServer): string | { refused: string } {
  if (asks === 'basic' && (user === '' || password === '')) return { refused: 'Both the user name and the password are needed.' };
  if (asks === 'basic' && user.includes(':')) return { refused: 'A user name must not contain a colon.' };
  const entered = givenKey.safeParse({ key: asks === 'basic' ? `${user}:${password}` : key.trim() });
  return entered.success ? entered.data.key : { refused: 'The key is missing, too long, or not one line of text.' };
}
