import type { FastifyPluginCallback, FastifyRequest } from 'fastify';
import { requireFurtherModels, requireModel } from '../../chat/loop/require-model.ts';
import { isModelAllowed } from '../../core/caller.ts';
import type { Caller } from '../../core/caller.ts';
import { GatewayError } from '../../core/errors.ts';
import type { JsonObject } from '../../shared/json.ts';
import { isJsonObject, ownValue } from '../../shared/json.ts';
import { limits } from '../../core/limits.ts';
import type { ModelFinder, ModelRecord } from '../../core/model.ts';

export interface ModelRouteOptions {
  models: ModelFinder;
  callerOf(request: FastifyRequest): Caller;
  /** Passes a body on to the backend that owns its model, and gives the JSON of its answer as it came. */
  embed(body: JsonObject, signal: AbortSignal): Promise<{ status: number; body: Uint8Array }>;
  version: string;
}

/** The model list in OpenAI's shape, as far as the caller's key reaches, `/v1/models/{id}` (ids may contain `/`), embeddings, and the version. */
export const modelRoutes: FastifyPluginCallback<ModelRouteOptions> = (app, options, done) => {
  const list = async (request: FastifyRequest) => {
    const caller = options.callerOf(request);
    const records = await options.models.list(listSignal());
    return { object: 'list', data: records.filter(({ id }) => isModelAllowed(caller, id)).map(toWire) };
  };
  app.get('/v1/models', list);
  app.get('/api/models', list);
  app.get('/api/v1/models', list);
  app.get<{ Params: { '*': string } }>('/v1/models/*', async (request) => {
    requireModel(options.callerOf(request), request.params['*']);
    const found = await options.models.require(request.params['*'], listSignal());
    return toWire(found.record);
  });
  app.post('/v1/embeddings', async (request, reply) => {
    if (!isJsonObject(request.body)) throw new GatewayError('invalid_request', 'The body must be a JSON object with model and input.');
    const model = ownValue(request.body, 'model');
    if (typeof model === 'string') requireModel(options.callerOf(request), model);
    requireFurtherModels(options.callerOf(request), request.body);
    const leave = new AbortController();
    reply.raw.once('close', () => leave.abort(new DOMException('The client left', 'AbortError')));
    const answer = await options.embed(request.body, leave.signal);
    return reply.code(answer.status).type('application/json; charset=utf-8').send(answer.body);
  });
  app.get('/api/version', () => ({ version: options.version }));
  done();
};

/** `owned_by` decides nothing here, but Open WebUI's frontends look at it, and at the `ollama` key beside it. */
function toWire(record: ModelRecord): JsonObject {
  return {
    // What a backend lists of its own never replaces what the gateway knows better, such as a refusal of tools.
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

/** A list never takes longer: a backend that does loses its models for this answer. */
function listSignal(): AbortSignal {
  return AbortSignal.timeout(2 * limits.modelListTimeoutMs);
}
