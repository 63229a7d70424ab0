import type { FastifyPluginAsync } from 'fastify';
import { z } from 'zod';
import type { OwnCredentials, ShownCredential } from '../../core/credentials.ts';
import { limits } from '../../core/limits.ts';
import type { JsonObject } from '../../shared/json.ts';
import type { SignIns } from '../../core/sign-in.ts';
import { parseInput } from '../parse-input.ts';
import { publicAddress } from '../public-address.ts';

export interface CredentialRouteOptions {
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
    const kept = await credentials.keep(caller, server, key);
    log.info({ server: kept.server, caller_id: caller.id }, 'credential stored');
    return toWire(kept);
  });

  app.post<WithServer>('/api/credentials/:server/connect', async ({ params: { server }, caller, headers }) => {
    const { url, expires } = await signIns.makeLink(caller, server, publicAddress(headers, publicUrl));
    return { url, expires: new Date(expires).toISOString() };
  });

  app.delete<WithServer>('/api/credentials/:server', async ({ params: { server }, caller, log }) => {
    await credentials.forget(caller, server);
    log.info({ server, caller_id: caller.id }, 'credential deleted');
    return { id: server, deleted: true };
  });
};

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
