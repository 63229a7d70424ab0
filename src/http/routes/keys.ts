import type { FastifyPluginCallback, FastifyRequest } from 'fastify';
import type { JsonObject } from '../../shared/json.ts';
import type { KeyRecord } from '../../core/registry.ts';
import { fixedCallerId } from '../../core/caller.ts';
import { callerOf } from '../auth/guard.ts';
import type { ApiKeys } from '../../admin/api-keys.ts';
import { parseKeyChange, parseNewKey } from './parse-key-body.ts';

export interface KeyRouteOptions {
  keys: ApiKeys;
  /** Whether `TOOLWHARF_ADMIN_KEY` is set: it is listed too. */
  hasFixedKey: boolean;
  /** Milliseconds since 1970. */
  now: () => number;
}

/** `/api/keys` for administrators. A key itself is shown by the answer that made it, and nowhere else; its hash nowhere. */
export const keyRoutes: FastifyPluginCallback<KeyRouteOptions> = (app, { keys, hasFixedKey, now }, done) => {
  app.get('/api/keys', async () => {
    const stored = (await keys.list()).map(toWire);
    return { data: hasFixedKey ? [fixedKey, ...stored] : stored };
  });
  app.post('/api/keys', async (request, reply) => {
    const { record, key } = await keys.create(parseNewKey(request.body, now()));
    log(request, record.id, 'key created');
    return reply
      .code(201)
      .header('cache-control', 'no-store')
      .send({ ...toWire(record), key });
  });
  app.patch<{ Params: { id: string } }>('/api/keys/:id', async (request) => {
    const record = await keys.change(request.params.id, parseKeyChange(request.body));
    log(request, record.id, 'key changed');
    return toWire(record);
  });
  app.delete<{ Params: { id: string } }>('/api/keys/:id', async (request) => {
    const { id } = request.params;
    await keys.delete(id);
    log(request, id, 'key deleted');
    return { id, deleted: true };
  });
  done();
};

const fixedKey: JsonObject = {
  id: fixedCallerId,
  name: 'TOOLWHARF_ADMIN_KEY',
  role: 'admin',
  origin: 'environment',
  created_at: null,
  expires_at: null,
  models: null,
  tools: null,
  limits: null,
};

/** `null` where a key is not limited. Times are ISO dates. */
function toWire({ id, name, role, createdAt, expiresAt, models, tools, limits }: KeyRecord): JsonObject {
  return {
    id,
    name,
    role,
    origin: 'database',
    created_at: new Date(createdAt).toISOString(),
    expires_at: expiresAt === undefined ? null : new Date(expiresAt).toISOString(),
    models: models ?? null,
    tools: tools ?? null,
    limits: limits ?? null,
  };
}

function log(request: FastifyRequest, keyId: string, what: string): void {
  request.log.info({ key_id: keyId, by: callerOf(request).id }, what);
}
