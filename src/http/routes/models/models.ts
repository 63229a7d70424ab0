import type { FastifyPluginAsync, FastifyRequest } from 'fastify';
import { requireModel } from '../../../core/callers/require-model.ts';
import { isModelAllowed } from '../../../core/callers/caller.ts';
import type { ModelFinder, ModelRecord } from '../../../core/models/model.ts';
import { findPrice, type ModelPrices } from '../../../core/models/model-price.ts';
import type { JsonObject } from '../../../shared/json/json.ts';
import { isForAnthropic, toModelInfo, toModelPage } from '../../dialects/messages/model-info.ts';
import { errorsOfVersion } from '../../dialects/messages/messages-errors.ts';
import { listSignal } from './list-signal.ts';

interface ModelRouteOptions {
  models: ModelFinder;
  /** `TASK_MODEL` and `TASK_MODEL_EXTERNAL`. */
  taskModels: { local: string | undefined; external: string | undefined };
  prices: ModelPrices;
}

/** The models that the caller's key may use, in OpenAI's shape or Anthropic's, and `/v1/models/{id}` (ids may contain `/`). */
export const modelRoutes: FastifyPluginAsync<ModelRouteOptions> = async (app, { models, taskModels, prices }) => {
  const listAllowed = async ({ caller }: FastifyRequest): Promise<ModelRecord[]> => {
    const records = await models.list(listSignal(), caller);
    return records.filter(({ id }) => isModelAllowed(caller, id));
  };
  /** With what the console needs to know of a model. */
  const toListed = (record: ModelRecord, all: readonly ModelRecord[]): JsonObject => {
    const taskModel = record.isLocal ? taskModels.local : taskModels.external;
    const price = findPrice(prices, record.id);
    return {
      ...toWire(record),
      ...(all.some(({ id }) => id === taskModel) && { task_model: taskModel ?? null }),
      ...(price !== undefined && { price: { ...price } }),
    };
  };
  const list = async (request: FastifyRequest) => {
    const all = await listAllowed(request);
    return { object: 'list', data: all.map((record) => toListed(record, all)) };
  };
  for (const path of ['/api/models', '/api/v1/models']) app.get(path, list);

  const config = { errors: errorsOfVersion };
  app.get('/v1/models', { config }, async (request) => {
    if (!isForAnthropic(request.headers)) return list(request);
    return toModelPage(await listAllowed(request), request.query);
  });

  app.get<{ Params: { '*': string } }>('/v1/models/*', { config }, async ({ caller, headers, params: { '*': id } }) => {
    requireModel(caller, id);
    const { record } = await models.require(id, listSignal(), caller);
    return isForAnthropic(headers) ? toModelInfo(record) : toWire(record);
  });
};

/** The gateway does not use `owned_by`, but Open WebUI reads it, and the `ollama` key beside it. */
function toWire(record: ModelRecord): JsonObject {
  return {
    // First, so that the gateway's own fields override the backend's, such as capabilities after a refusal of tools.
    ...(record.owner === 'ollama' ? { ollama: record.details } : record.details),
    id: record.id,
    object: 'model',
    created: record.created,
    owned_by: record.owner,
    name: typeof record.details['name'] === 'string' ? record.details['name'] : record.id,
    connection_type: record.isLocal ? 'local' : 'external',
    ...(record.capabilities === undefined ? {} : { capabilities: record.capabilities }),
  };
}
