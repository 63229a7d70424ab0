import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError } from '../../../core/errors.ts';
import type { JsonObject } from '../../../shared/json/json.ts';
import { keyIdOf } from '../../../core/callers/people.ts';
import { addressOwner } from '../../auth/address-owner.ts';
import { hasLargeBody } from '../../errors/unread-bodies.ts';
import type { CountedAddress } from '../../authorization-server/address-counts.ts';
import { mcpScope, pathOf, paths, resourceMetadata, serverMetadata } from '../../authorization-server/addresses.ts';
import type { AuthorizationProvider } from '../../authorization-server/create-provider.ts';
import { queryOf } from './query-of.ts';

export interface AuthorizationServerRoutes {
  /** `PUBLIC_URL`. Without it there is no authorization server. */
  publicUrl: string | undefined;
  /** `MCP_OAUTH_ISSUER`: the authorization server that is used instead of the gateway's own. */
  foreignIssuer: string | undefined;
  provider: () => Promise<AuthorizationProvider>;
  /** Registrations, and requests for consent. */
  counts: { registration: CountedAddress; request: CountedAddress };
}

/** Of a request for consent. The library has more, for features that are off here. */
const requestParameters = [
  'client_id',
  'redirect_uri',
  'response_type',
  'state',
  'code_challenge',
  'code_challenge_method',
  'resource',
] as const;

/**
 * The gateway as the authorization server of its own `/mcp`: two documents that say so (RFC 9728 and 8414), and what programs ask for (OAuth 2.1). People answer on
 * the page of `consent.ts`.
 */
export const authorizationServerRoutes: FastifyPluginAsync<AuthorizationServerRoutes> = async (app, options) => {
  const { publicUrl, foreignIssuer, provider, counts } = options;
  documents(app, '/.well-known/oauth-protected-resource', (suffix) => {
    if (publicUrl === undefined || !['', '/mcp', `${pathOf(publicUrl)}/mcp`].includes(suffix)) return undefined;
    return resourceMetadata(publicUrl, foreignIssuer ?? publicUrl);
  });
  documents(app, '/.well-known/oauth-authorization-server', (suffix) => {
    if (publicUrl === undefined || foreignIssuer !== undefined || !['', pathOf(publicUrl)].includes(suffix)) return undefined;
    return serverMetadata(publicUrl);
  });

  // The library reads bodies by itself.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, payload, done) => done(null, payload));

  async function answer(request: FastifyRequest, reply: FastifyReply, url: string): Promise<FastifyReply> {
    const opened = await provider();
    reply.header('cache-control', 'no-store');
    reply.hijack();
    for (const [name, value] of Object.entries(reply.getHeaders())) if (value !== undefined) reply.raw.setHeader(name, value);
    await opened.answer(request.raw, reply.raw, { url, address: ownerOf(request) });
    return reply;
  }

  app.get(paths.authorize, async (request, reply) => {
    requireServer(options);
    counts.request.count(ownerOf(request));
    return answer(request, reply, `${paths.authorize}?${consentQuery(queryOf(request)).toString()}`);
  });
  app.get<{ Params: { uid: string } }>(`${paths.authorize}/:uid`, async (request, reply) => {
    requireServer(options);
    return answer(request, reply, `${paths.authorize}/${encodeURIComponent(request.params.uid)}`);
  });
  app.post(paths.register, async (request, reply) => {
    requireServer(options);
    requireSmall(request);
    counts.registration.count(ownerOf(request));
    return answer(request, reply, paths.register);
  });
  for (const path of [paths.token, paths.revoke])
    app.post(path, async (request, reply) => {
      requireServer(options);
      requireSmall(request);
      return answer(request, reply, path);
    });
};

/** A document at an address and below it, where clients look for it if what they connect to has a path. */
function documents(app: Parameters<FastifyPluginAsync>[0], path: string, find: (suffix: string) => JsonObject | undefined): void {
  const send = (suffix: string): JsonObject => {
    const document = find(suffix.replace(/\/$/, ''));
    if (document !== undefined) return document;
    throw new GatewayError('not_found', 'There is no such document. The gateway issues tokens for /mcp if PUBLIC_URL is set.');
  };
  app.get(path, () => send(''));
  app.get<{ Params: { '*': string } }>(`${path}/*`, ({ params }) => send(`/${params['*']}`));
}

/** Parameters are passed on as often as they were sent, because the library refuses those that were sent twice. There is one scope, whatever is asked for. */
function consentQuery(sent: URLSearchParams): URLSearchParams {
  const query = new URLSearchParams();
  for (const name of requestParameters) for (const value of sent.getAll(name)) query.append(name, value);
  query.set('scope', mcpScope);
  return query;
}

/** @throws GatewayError `not_found` */
export function requireServer({ publicUrl, foreignIssuer }: Pick<AuthorizationServerRoutes, 'publicUrl' | 'foreignIssuer'>): string {
  if (publicUrl !== undefined && foreignIssuer === undefined) return publicUrl;
  throw new GatewayError(
    'not_found',
    publicUrl === undefined
      ? 'This gateway issues no tokens, because PUBLIC_URL is not set.'
      : `This gateway issues no tokens. Tokens for /mcp come from ${foreignIssuer} (MCP_OAUTH_ISSUER).`,
  );
}

/** @throws GatewayError `payload_too_large` */
function requireSmall({ headers }: FastifyRequest): void {
  if (hasLargeBody(headers))
    throw new GatewayError('payload_too_large', 'The body is too large. Send less than 56 kB, with a content-length.');
}

/** One owner for all addresses of a network. */
export function ownerOf({ ip }: FastifyRequest): string {
  return keyIdOf(addressOwner(ip));
}
