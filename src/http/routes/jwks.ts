import type { FastifyPluginCallback } from 'fastify';

/** Tool servers keep the key so long; it changes only with the gateway's secret. */
const cacheSeconds = 300;

/** `GET /.well-known/jwks.json`: the public key by which tool servers verify session tokens (RFC 7517). */
export const jwksRoute: FastifyPluginCallback<{ keySet: () => Promise<object> }> = (app, { keySet }, done) => {
  app.get('/.well-known/jwks.json', async (_request, reply) =>
    reply
      .header('content-type', 'application/jwk-set+json; charset=utf-8')
      .header('access-control-allow-origin', '*')
      .header('cache-control', `public, max-age=${cacheSeconds}`)
      .send(JSON.stringify(await keySet())),
  );
  done();
};
