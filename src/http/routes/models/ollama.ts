import type { FastifyPluginAsync } from 'fastify';
import { requireModel } from '../../../core/callers/require-model.ts';
import { isModelAllowed, type Caller } from '../../../core/callers/caller.ts';
import { invalidField } from '../../../core/errors.ts';
import type { Embeddings } from '../../../core/models/embeddings.ts';
import type { PassedUse } from '../../../core/runs/metrics.ts';
import type { ModelFinder } from '../../../core/models/model.ts';
import type { JsonObject } from '../../../shared/json/json.ts';
import { parseFields, requireBoundedBody } from '../../dialects/requests/parse-fields.ts';
import { embeddingsSchema, embedSchema, showSchema } from '../../dialects/ollama/ollama-body-schema.ts';
import { ollamaVersion, toRunning, toShown, toTag } from '../../dialects/ollama/ollama-entries.ts';
import { ollamaErrors } from '../../dialects/ollama/ollama-error.ts';
import { namedModel } from '../../dialects/ollama/named-model.ts';
import { disconnectSignal } from '../../disconnect-signal.ts';
import { listSignal } from './list-signal.ts';
import { sendInSlices } from '../send-in-slices.ts';

interface OllamaRouteOptions {
  version: string;
  countPassed: (use: PassedUse) => void;
  models: ModelFinder & {
    /** The models that are loaded, by their id, as their Ollama lists them. */
    loaded(signal: AbortSignal): Promise<{ id: string; entry: JsonObject }[]>;
  };
}

/** What changes an Ollama: its operator's own business, whatever the key. */
const refusedRoutes = [
  ['POST', '/api/pull'],
  ['POST', '/api/push'],
  ['POST', '/api/create'],
  ['POST', '/api/copy'],
  ['DELETE', '/api/delete'],
  ['POST', '/api/blobs/:digest'],
  ['GET', '/api/blobs/:digest'],
] as const;

/** Ollama's routes besides its chats: models, embeddings, and what is refused. */
export const ollamaRoutes: FastifyPluginAsync<OllamaRouteOptions> = async (app, { version, models, countPassed }) => {
  const config = { errors: ollamaErrors, takesAnyType: true } as const;

  app.get('/api/version', { config }, () => ({ version: ollamaVersion, toolwharf: version }));

  app.get('/api/tags', { config }, async ({ caller }) => {
    const records = await models.list(listSignal(), caller);
    return { models: records.filter(({ id }) => isModelAllowed(caller, id)).map(toTag) };
  });

  app.get('/api/ps', { config }, async ({ caller }) => {
    const loaded = await models.loaded(listSignal());
    return { models: loaded.filter(({ id }) => isModelAllowed(caller, id)).map(({ id, entry }) => toRunning(entry, id)) };
  });

  app.post('/api/show', { config }, async ({ caller, body: value }, reply) => {
    const body = parseFields(showSchema, requireBoundedBody(value, 'a JSON object with model'));
    const signal = disconnectSignal(reply);
    const id = namedModel(body);
    requireModel(caller, id);
    const found = await models.require(id, signal, caller);
    return toShown(found, await found.describe?.(signal));
  });

  app.post('/api/embed', { config }, async ({ caller, body: value }, reply) => {
    const body = parseFields(embedSchema, requireBoundedBody(value, 'a JSON object with model and input'));
    const texts = body.input === '' ? [] : [body.input ?? []].flat();
    const start = performance.now();
    const { vectors, promptTokens } = await embed(caller, disconnectSignal(reply), { ...body, texts });
    const duration = Math.max(1, Math.round((performance.now() - start) * 1e6));
    const counts = { total_duration: duration, load_duration: 0, prompt_eval_count: promptTokens };
    return sendInSlices(reply, { model: namedModel(body), embeddings: vectors, ...counts });
  });

  app.post('/api/embeddings', { config }, async ({ caller, body: value }, reply) => {
    const body = parseFields(embeddingsSchema, requireBoundedBody(value, 'a JSON object with model and prompt'));
    const { vectors } = await embed(caller, disconnectSignal(reply), { ...body, texts: body.prompt ? [body.prompt] : [] });
    return { embedding: vectors[0] ?? [] };
  });

  /** Without a text only looks whether the model is there, as an Ollama loads it. */
  async function embed(caller: Caller, signal: AbortSignal, asked: AskedEmbeddings): Promise<Embeddings> {
    const id = namedModel(asked);
    requireModel(caller, id);
    const found = await models.require(id, signal, caller);
    const { texts, dimensions, truncate, options, keep_alive: keepAlive } = asked;
    if (texts.length === 0) return { vectors: [], promptTokens: 0 };
    if (found.embed === undefined) throw invalidField('model', `${id} has no embeddings. Name a model that has them.`);
    const ollama: JsonObject = {
      ...(typeof truncate === 'boolean' && { truncate }),
      ...(options && { options }),
      ...(keepAlive !== null && keepAlive !== undefined && { keep_alive: keepAlive }),
    };
    try {
      const asking = { model: found.name, texts, ...(dimensions ? { dimensions } : {}), ollama, signal, caller: caller.id };
      const embeddings = await found.embed(asking);
      countPassed({ caller, model: id, tokens: embeddings.promptTokens, hasFailed: false });
      return embeddings;
    } catch (error) {
      countPassed({ caller, model: id, tokens: 0, hasFailed: true });
      throw error;
    }
  }

  // The guard answers, before the body is read: it may be a whole model.
  for (const [method, url] of refusedRoutes) app.route({ method, url, config, handler: () => undefined });
};

interface AskedEmbeddings {
  model?: string | null | undefined;
  name?: string | null | undefined;
  texts: readonly string[];
  dimensions?: number | null | undefined;
  truncate?: boolean | null | undefined;
  options?: JsonObject | null | undefined;
  keep_alive?: string | number | null | undefined;
}
