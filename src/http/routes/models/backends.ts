import type { FastifyPluginAsync, FastifyRequest } from 'fastify';
import type { BackendAdmin } from '../../../admin/backend-admin.ts';
import type { BackendVerification } from '../../../core/models/backend-report.ts';
import type { JsonObject } from '../../../shared/json/json.ts';
import { disconnectSignal } from '../../disconnect-signal.ts';

type WithId = { Params: { id: string } };

/** `/api/backends`, for administrators. No answer contains a key or the value of a header. */
export const backendRoutes: FastifyPluginAsync<{ admin: BackendAdmin }> = async (app, { admin }) => {
  app.get('/api/backends', async () => ({ data: await admin.list() }));

  app.post('/api/backends', async (request, reply) => {
    const backend = await admin.create(request.body);
    log(request, backend['id'], 'backend created');
    reply.code(201);
    return backend;
  });

  app.get<WithId>('/api/backends/:id', async (request) => admin.read(request.params.id));

  app.patch<WithId>('/api/backends/:id', async (request) => {
    const backend = await admin.change(request.params.id, request.body);
    log(request, backend['id'], 'backend changed');
    return backend;
  });

  app.delete<WithId>('/api/backends/:id', async (request) => {
    const { id } = request.params;
    await admin.delete(id);
    log(request, id, 'backend deleted');
    return { id, deleted: true };
  });

  app.post<WithId>('/api/backends/:id/verify', async (request, reply) =>
    toWire(await admin.verify(request.params.id, disconnectSignal(reply))),
  );
};

function toWire({ isOk, models, servers, warnings }: BackendVerification): JsonObject {
  return { ok: isOk, models, servers: servers.map((server) => ({ ...server })), warnings };
}

function log(request: FastifyRequest, id: unknown, message: string): void {
  if (typeof id === 'string') request.changedId = id;
  request.log.info({ backend: id, by: request.caller.id }, message);
}
