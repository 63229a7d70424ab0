import type { FastifyPluginAsync, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { OwnCredentials, ShownCredential } from '../../../core/sign-in/credentials.ts';
import { unknownId } from '../../../core/errors.ts';
import { limits } from '../../../core/limits.ts';
import { keyIdOf, personCallerId } from '../../../core/callers/people.ts';
import type { JsonObject } from '../../../shared/json/json.ts';
import type { SignIns } from '../../../core/sign-in/sign-in.ts';
import { parseInput } from '../../parse-input.ts';
import { publicAddress } from '../../public-address.ts';

interface CredentialRouteOptions {
  credentials: OwnCredentials;
  signIns: Pick<SignIns, 'makeLink'>;
  publicUrl: string | undefined;
}

export const givenKey = z.strictObject({
  key: z
    .string('must be the key as text')
    .min(1, 'must not be empty')
    .max(limits.credentialCharacters)
    .regex(/^[^\r\n\0]*$/, 'must be one line of text'),
});

type WithServer = { Params: { server: string } };

/** The caller's own credentials for tool servers. No answer and no log holds one. */
export const credentialRoutes: FastifyPluginAsync<CredentialRouteOptions> = async (app, { credentials, signIns, publicUrl }) => {
  app.get('/api/credentials', async ({ caller }) => ({ data: (await credentials.list(caller)).map(toWire) }));

  app.put<WithServer>('/api/credentials/:server', async ({ params: { server }, body, caller, log }) => {
    const { key } = parseInput(givenKey, body, 'a JSON object with the key');
    const kept = await credentials.save(caller, server, key);
    log.info({ server: kept.server, caller_id: caller.id }, 'credential stored');
    return toWire(kept);
  });

  app.post<WithServer>('/api/credentials/:server/connect', async ({ params: { server }, caller, headers }) => {
    const { url, expires } = await signIns.makeLink(caller, server, publicAddress(headers, publicUrl));
    return { url, expires: new Date(expires).toISOString() };
  });

  app.delete<WithServer>('/api/credentials/:server', async ({ params: { server }, caller, log }) => {
    await credentials.delete(caller, server);
    log.info({ server, caller_id: caller.id }, 'credential deleted');
    return { id: server, deleted: true };
  });
};

type WithKey = { Params: { id: string; server: string } };
type WithPerson = { Params: { key: string; id: string; server: string } };

/**
 * What others have connected, for administrators: of a key that is one caller, and of one of the people behind a key. They see no secret, and can only
 * disconnect.
 */
export const othersCredentialRoutes: FastifyPluginAsync<Pick<CredentialRouteOptions, 'credentials'>> = async (app, { credentials }) => {
  const list = async (callerId: string): Promise<JsonObject> => ({ data: (await credentials.listStored(callerId)).map(toWire) });
  async function disconnect(
    callerId: string,
    { params: { server }, caller, log }: FastifyRequest<{ Params: { server: string } }>,
  ): Promise<JsonObject> {
    await credentials.deleteStored(callerId, server);
    log.info({ server, caller_id: callerId, by: caller.id }, 'credential deleted by an administrator');
    return { id: server, deleted: true };
  }

  app.get<WithKey>('/api/keys/:id/credentials', ({ params: { id } }) => list(requireKeyId(id)));
  app.delete<WithKey>('/api/keys/:id/credentials/:server', (request) => disconnect(requireKeyId(request.params.id), request));
  app.get<WithPerson>('/api/users/:key/:id/credentials', ({ params: { key, id } }) => list(personCallerId(requireKeyId(key), id)));
  app.delete<WithPerson>('/api/users/:key/:id/credentials/:server', (request) => {
    const { key, id } = request.params;
    return disconnect(personCallerId(requireKeyId(key), id), request);
  });
};

/** No key has a slash in its id: such a text would begin the id of a person. @throws GatewayError `not_found` */
function requireKeyId(id: string): string {
  if (keyIdOf(id) === id) return id;
  throw unknownId('key', id, 'GET /api/keys');
}

function toWire({ server, name, kind, state, scopes, expires }: ShownCredential): JsonObject {
  return {
    server,
    name,
    kind,
    state,
    ...(scopes !== undefined && { scopes: [...scopes] }),
    ...(expires !== undefined && { expires: new Date(expires).toISOString() }),
  };
}
