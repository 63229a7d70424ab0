import type { FastifyPluginCallback, FastifyRequest } from 'fastify';
import type { Caller } from '../../core/caller.ts';
import { limits } from '../../core/limits.ts';
import type { ToolFinder } from '../../core/tool.ts';

export interface ToolRouteOptions {
  tools: ToolFinder;
  callerOf(request: FastifyRequest): Caller;
}

/** `GET /api/tools`: every registered function that this caller may use. */
export const toolRoutes: FastifyPluginCallback<ToolRouteOptions> = (app, options, done) => {
  app.get('/api/tools', async (request) => {
    const signal = AbortSignal.timeout(2 * limits.documentTimeoutMs);
    const listed = await options.tools.list(options.callerOf(request), signal);
    return { data: listed.map(({ hints: _hints, ...shown }) => shown) };
  });
  done();
};
