import type { FastifyPluginCallback } from 'fastify';

export interface HealthRouteOptions {
  isDraining(): boolean;
  /** Whether keys and tool servers can be read. */
  isStoreReadable(): Promise<boolean>;
  /** State of backends and tool servers: reported, but no reason to take this gateway out of service. */
  report(): Promise<{ backends: object[]; tool_servers: object[] }>;
}

/** `/health`: this process is alive. `/ready`: it may be sent requests. Both need no key and show no address. */
export const healthRoutes: FastifyPluginCallback<HealthRouteOptions> = (app, options, done) => {
  app.get('/health', () => ({ status: true }));
  app.get('/ready', async (_request, reply) => {
    const reason = options.isDraining() ? 'draining' : (await options.isStoreReadable()) ? undefined : 'storage';
    return reply
      .code(reason === undefined ? 200 : 503)
      .send({ ready: reason === undefined, ...(reason !== undefined && { reason }), ...(await options.report()) });
  });
  done();
};
