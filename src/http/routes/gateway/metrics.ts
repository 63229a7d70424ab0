import type { FastifyPluginAsync } from 'fastify';

interface MetricsRouteOptions {
  metrics: {
    contentType: string;
    /** In Prometheus' text format. */
    text(): Promise<string>;
  };
}

/** `GET /metrics`, for administrators and for whoever has `METRICS_KEY`. */
export const metricsRoute: FastifyPluginAsync<MetricsRouteOptions> = async (app, { metrics }) => {
  app.get('/metrics', async (_request, reply) => reply.header('content-type', metrics.contentType).send(await metrics.text()));
};
