import type { FastifyPluginCallback } from 'fastify';

/** `GET /`: what this is and where its doors are, for whoever opens the address. Tells nothing that needs a key. */
export const rootRoute: FastifyPluginCallback<{ version: string }> = (app, { version }, done) => {
  app.get('/', () => ({
    name: 'toolwharf',
    version,
    chat: 'POST /v1/chat/completions',
    models: 'GET /v1/models',
    tools: 'GET /api/tools',
    socket: 'GET /ws',
    client: 'GET /client.js',
    state: 'GET /ready',
  }));
  done();
};
