import { readFile } from 'node:fs/promises';
import type { FastifyPluginAsync } from 'fastify';

/** `GET /client.js`: the browser client as one module, for any page, from any origin; it holds no secret. */
export const clientRoute: FastifyPluginAsync = async (app) => {
  const source = await readFile(new URL('../../client/toolwharf-client.js', import.meta.url), 'utf8');
  app.get('/client.js', (_request, reply) =>
    reply
      .header('content-type', 'text/javascript; charset=utf-8')
      .header('access-control-allow-origin', '*')
      .header('cache-control', 'no-cache')
      .send(source),
  );
};
