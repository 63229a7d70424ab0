import type { FastifyPluginAsync } from 'fastify';
import type { DocumentOptions } from '../description/gateway-document.ts';

/** `GET /openapi.json`: what this gateway can be asked, for programs. Everybody may read it: it is the same in every gateway of this version. */
export const descriptionRoutes: FastifyPluginAsync<DocumentOptions> = async (app, options) => {
  let making: Promise<string> | undefined;
  /** Made for the first reader, because most gateways have none. */
  const document = (): Promise<string> => {
    making ??= import('../description/gateway-document.ts').then(async ({ makeGatewayDocument }) =>
      JSON.stringify(await makeGatewayDocument(options)),
    );
    return making;
  };

  // Pages of any origin may show it: it contains no secret.
  app.get('/openapi.json', async (_request, reply) =>
    reply
      .type('application/json; charset=utf-8')
      .header('access-control-allow-origin', '*')
      .header('cache-control', 'no-cache')
      .send(await document()),
  );
};
