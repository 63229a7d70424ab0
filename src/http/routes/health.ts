import type { FastifyPluginCallback } from 'fastify';

export interface HealthRouteOptions {
  isDraining(): boolean;
  /** State of backends and tool servers: reported, but no reason to take this gateway out of service. */
  report(): Promise<{ backends: object[]; tool_servers: object[] }>;
}

/** `/health`: this process is alive. `/ready`: it may be sent requests. Both need no key and show no address. */
export const healthRoutes: FastifyPluginCallback<HealthRouteOptions> = (app, options, done) => {
  app.get('/health', () => ({ status: true }));
  app.get('/ready', async (_request, reply) => {
    const isReady = !options.isDraining();
    return reply
      .code(isReady ? 200 : 503)
      .send({ ready: isReady, ...(isReady ? {} : { reason: 'draining' }), ...(await options.report()) });
  });
  done();
};
