import type { FastifyPluginAsync } from 'fastify';
import type { DocumentOptions } from './gateway-document.ts';

/**
 * What this gateway can be asked: `GET /openapi.json` for programs, `GET /docs` for people. Everybody may read it, because it is the same in every gateway
 * of this version. Both are made for their first reader: most gateways have none.
 */
export const descriptionRoutes: FastifyPluginAsync<DocumentOptions> = async (app, options) => {
  const document = once(async () => {
    const { makeGatewayDocument } = await import('./gateway-document.ts');
    return makeGatewayDocument(options);
  });
  // Bytes, so that all who read them share them, and nothing is encoded for each.
  const text = once(async () => Buffer.from(JSON.stringify(await document())));
  const page = once(async () => {
    const { renderApiPage } = await import('../../pages/api-page.ts');
    const { headers, document: shown } = renderApiPage(await document());
    return { headers, bytes: Buffer.from(shown) };
  });

  // Pages of any origin may show it: it contains no secret.
  app.get('/openapi.json', async (_request, reply) =>
    reply
      .type('application/json; charset=utf-8')
      .header('access-control-allow-origin', '*')
      .header('cache-control', 'no-cache')
      .send(await text()),
  );

  app.get('/docs', async (_request, reply) => {
    const { headers, bytes } = await page();
    return reply.headers(headers).send(bytes);
  });
};

/** Made at the first call and kept. */
function once<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let making: Promise<Value> | undefined;
  return () => (making ??= make());
}
