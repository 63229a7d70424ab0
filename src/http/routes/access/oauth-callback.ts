import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError } from '../../../core/errors.ts';
import type { SignIns } from '../../../core/sign-in/sign-in.ts';
import type { JsonObject } from '../../../shared/json/json.ts';
import type { Authenticator } from '../../auth/authenticate.ts';
import { cookiesIn } from './cookies.ts';
import { installFormPages, sendPage } from '../form-pages.ts';
import { connectedPage } from '../../pages/connect-page.ts';
import { queryOf } from './query-of.ts';

interface OAuthCallbackOptions {
  signIns: Pick<SignIns, 'finish'>;
  callers: Pick<Authenticator, 'findById'>;
  /** What the gateway says of itself to authorization servers; undefined unless `PUBLIC_URL` is an https address, and for what is no mark of one. */
  clientMetadata: (issuerMark?: string) => JsonObject | undefined;
}

type WithMark = { Params: { issuer: string } };

/**
 * `GET /oauth/callback`: where authorization servers send people back to. It needs the cookie of the browser that began, and a `state` that is used once.
 * `GET /oauth/client-metadata.json`: who the gateway is, for authorization servers that take such an address as the id of a client. Beneath both are those for
 * single authorization servers (`tools/credentials/oauth/client-addresses.ts`).
 */
export const oauthCallbackRoutes: FastifyPluginAsync<OAuthCallbackOptions> = async (app, { signIns, callers, clientMetadata }) => {
  await app.register(async (pages) => {
    installFormPages(pages, { not_found: 'Sign-in not found', forbidden: 'Not connected', conflict: 'Not connected' });
    const finish = async (request: FastifyRequest, reply: FastifyReply, issuerMark?: string): Promise<FastifyReply> => {
      const cookies = cookiesIn(request.headers.cookie);
      const { server, caller } = await signIns.finish(queryOf(request), {
        issuerMark,
        cookieOf: (name) => cookies.get(name),
        callerOf: (id) => callers.findById(id, request),
      });
      request.log.info({ server: server.id, caller_id: caller.id, over: 'oauth' }, 'credential stored');
      return sendPage(reply, connectedPage(server));
    };
    pages.get('/oauth/callback', (request, reply) => finish(request, reply));
    pages.get<WithMark>('/oauth/callback/:issuer', (request, reply) => finish(request, reply, request.params.issuer));
  });
  const describe = (issuerMark?: string): JsonObject => {
    const metadata = clientMetadata(issuerMark);
    if (metadata !== undefined) return metadata;
    throw new GatewayError('not_found', 'PUBLIC_URL is not an https address, so this gateway has no client metadata document.');
  };
  app.get('/oauth/client-metadata.json', () => describe());
  app.get<WithMark>('/oauth/client-metadata/:issuer', ({ params }) => describe(params.issuer));
};
