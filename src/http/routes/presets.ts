import type { FastifyPluginCallback, FastifyRequest } from 'fastify';
import { isModelAllowed } from '../../core/caller.ts';
import { GatewayError } from '../../core/errors.ts';
import type { JsonObject } from '../../shared/json.ts';
import type { PresetBook, PresetRecord } from '../../core/preset.ts';
import { callerOf } from '../auth/guard.ts';

export interface PresetRouteOptions {
  presets: PresetBook & {
    create(value: unknown): Promise<PresetRecord>;
    change(id: string, value: unknown): Promise<PresetRecord>;
    delete(id: string): Promise<void>;
  };
  toWire: (preset: PresetRecord) => JsonObject;
  /** What it names and nobody knows just now. */
  doubtsOf: (preset: PresetRecord) => Promise<string[]>;
}

type WithId = { Params: { id: string } };

/** `/api/presets`: everybody sees those that their key may use, administrators make and change them. */
export const presetRoutes: FastifyPluginCallback<PresetRouteOptions> = (app, { presets, toWire, doubtsOf }, done) => {
  app.get('/api/presets', async (request) => {
    const caller = callerOf(request);
    return { data: (await presets.list()).filter(({ id }) => isModelAllowed(caller, id)).map((preset) => shown(preset, request)) };
  });
  app.post('/api/presets', async (request, reply) => {
    const preset = await presets.create(request.body);
    log(request, preset.id, 'preset created');
    return reply.code(201).send(await withDoubts(preset));
  });
  app.get<WithId>('/api/presets/:id', async (request) => {
    const { id } = request.params;
    const preset = isModelAllowed(callerOf(request), id) ? await presets.find(id) : undefined;
    if (preset === undefined) throw new GatewayError('not_found', `There is no preset "${id.slice(0, 100)}".`);
    return shown(preset, request);
  });
  app.patch<WithId>('/api/presets/:id', async (request) => {
    const preset = await presets.change(request.params.id, request.body);
    log(request, preset.id, 'preset changed');
    return withDoubts(preset);
  });
  app.delete<WithId>('/api/presets/:id', async (request) => {
    const { id } = request.params;
    await presets.delete(id);
    log(request, id, 'preset deleted');
    return { id, deleted: true };
  });
  done();

  async function withDoubts(preset: PresetRecord): Promise<JsonObject> {
    return { ...toWire(preset), warnings: await doubtsOf(preset) };
  }

  /** Prompts may hold what only administrators should read. */
  function shown(preset: PresetRecord, request: FastifyRequest): JsonObject {
    const wire = toWire(preset);
    const { role, isOpen } = callerOf(request);
    if (role === 'admin' || isOpen) return wire;
    const { id, object, name, description, base_model } = wire;
    return { id, object, name, description, base_model };
  }
};

function log(request: FastifyRequest, id: string, what: string): void {
  request.log.info({ preset: id, by: callerOf(request).id }, what);
}
