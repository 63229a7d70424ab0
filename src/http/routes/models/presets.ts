import type { FastifyPluginAsync, FastifyRequest } from 'fastify';
import { isModelAllowed } from '../../../core/callers/caller.ts';
import { unknownId } from '../../../core/errors.ts';
import type { PresetFinder, PresetRecord } from '../../../core/stores/preset.ts';
import type { JsonObject } from '../../../shared/json/json.ts';
import { parseInput } from '../../parse-input.ts';
import { listQuery, pageIn } from '../list-page.ts';

interface PresetRouteOptions {
  presets: PresetFinder & {
    create(value: unknown): Promise<PresetRecord>;
    change(id: string, value: unknown): Promise<PresetRecord>;
    delete(id: string): Promise<void>;
  };
  toWire: (preset: PresetRecord) => JsonObject;
  /** One sentence for each model, tool or preset that the preset names and that does not exist at the moment. */
  findUnknown: (preset: PresetRecord) => Promise<string[]>;
}

type WithId = { Params: { id: string } };

/** `/api/presets`: callers see the presets that their key may use; administrators create and change them. */
export const presetRoutes: FastifyPluginAsync<PresetRouteOptions> = async (app, { presets, toWire, findUnknown }) => {
  const withWarnings = async (preset: PresetRecord): Promise<JsonObject> => ({ ...toWire(preset), warnings: await findUnknown(preset) });

  app.get('/api/presets', async (request) => {
    const allowed = (await presets.list()).filter(({ id }) => isModelAllowed(request.caller, id));
    const { entries, next } = pageIn(allowed, parseInput(listQuery, request.query, 'a query with limit and after'), 'preset');
    return { data: entries.map((preset) => visibleTo(request, toWire(preset))), ...next };
  });

  app.post('/api/presets', async (request, reply) => {
    const preset = await presets.create(request.body);
    log(request, preset.id, 'preset created');
    reply.code(201);
    return withWarnings(preset);
  });

  app.get<WithId>('/api/presets/:id', async (request) => {
    const { id } = request.params;
    const preset = isModelAllowed(request.caller, id) ? await presets.find(id) : undefined;
    if (preset === undefined) throw unknownId('preset', id, 'GET /api/presets');
    return visibleTo(request, toWire(preset));
  });

  app.patch<WithId>('/api/presets/:id', async (request) => {
    const preset = await presets.change(request.params.id, request.body);
    log(request, preset.id, 'preset changed');
    return withWarnings(preset);
  });

  app.delete<WithId>('/api/presets/:id', async (request) => {
    const { id } = request.params;
    await presets.delete(id);
    log(request, id, 'preset deleted');
    return { id, deleted: true };
  });
};

/** Prompts may contain what only administrators should read. */
function visibleTo({ caller }: FastifyRequest, preset: JsonObject): JsonObject {
  if (caller.role === 'admin' || caller.isOpen) return preset;
  const { id, object, name, description, base_model } = preset;
  return { id, object, name, description, base_model };
}

function log(request: FastifyRequest, id: string, message: string): void {
  request.changedId = id;
  request.log.info({ preset: id, by: request.caller.id }, message);
}
