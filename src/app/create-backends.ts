import type { BackendConfig, Config } from './config/config.ts';
import type { JsonObject } from '../shared/json.ts';
import { GatewayError } from '../core/errors.ts';
import type { ModelFinder } from '../core/model.ts';
import type { SendOutbound } from '../core/outbound.ts';
import { createDemoBackend, demoModel } from '../models/demo/demo-model.ts';
import type { CatalogBackend } from '../models/model-catalog.ts';
import { constrainOutput, ollamaForms, openAiForms } from '../models/constrain-output.ts';
import { createOllamaBackend, listOllamaModels } from '../models/ollama/ollama.ts';
import { createOpenAiBackend, embed, listOpenAiModels } from '../models/openai/openai-compatible.ts';
import type { OpenAiConnection } from '../models/openai/openai-compatible.ts';
import { repairFunctions } from '../models/schema-profiles/repair-functions.ts';
import { profileOf } from '../models/schema-profiles/to-profile.ts';

export interface Backends {
  backends: CatalogBackend[];
  /** Passes an embeddings request on to the backend that lists its model, and its answer, which is JSON, as it came. */
  embed: (models: ModelFinder, body: JsonObject, signal: AbortSignal) => Promise<{ status: number; body: Uint8Array }>;
}

/** The configured backends, and the demo model while none is configured; an Ollama found at the default address does not hide it. */
export function createBackends(config: Config, send: SendOutbound): Backends {
  const timeouts = { firstByteTimeoutMs: config.firstByteTimeoutMs, idleTimeoutMs: config.idleTimeoutMs };
  const embedders = new Map<unknown, OpenAiConnection>();
  const backends = config.backends.map((entry): CatalogBackend => {
    const prefix = entry.prefix === undefined ? {} : { prefix: entry.prefix };
    if (entry.kind === 'ollama') {
      const key = entry.key === undefined ? {} : { key: entry.key };
      const connection = {
        baseUrl: entry.url,
        name: entry.name,
        headers: entry.headers,
        maxContext: entry.maxContext,
        ...key,
        ...timeouts,
      };
      const backend = constrainOutput(repairFunctions(createOllamaBackend(connection, send), 'ollama'), ollamaForms);
      // Ollama serves OpenAI's embeddings below /v1.
      embedders.set(backend, toOpenAi({ ...entry, url: `${entry.url}/v1` }, timeouts));
      return { name: entry.name, ...prefix, isLocal: true, backend, list: (signal) => listOllamaModels(connection, send, signal) };
    }
    const connection = toOpenAi(entry, timeouts);
    const repaired = repairFunctions(createOpenAiBackend(connection, send), entry.schemas ?? profileOf(entry.url));
    const backend = constrainOutput(repaired, openAiForms);
    embedders.set(backend, connection);
    return { name: entry.name, ...prefix, isLocal: false, backend, list: (signal) => listOpenAiModels(connection, send, signal) };
  });
  if (config.demo ?? !config.backends.some((entry) => entry.isExplicit)) {
    backends.push({ name: 'demo', isLocal: true, backend: createDemoBackend(), list: async () => [demoModel] });
  }
  return {
    backends,
    async embed(models, body, signal) {
      const model = body['model'];
      if (typeof model !== 'string') throw new GatewayError('invalid_request', 'model: must name a model', { param: 'model' });
      const found = await models.require(model, signal);
      const connection = embedders.get(found.backend);
      if (connection === undefined) throw new GatewayError('invalid_request', `model: ${model} has no embeddings.`, { param: 'model' });
      return embed(connection, send, { body: { ...body, model: found.name }, signal });
    },
  };
}

function toOpenAi(entry: BackendConfig, timeouts: { firstByteTimeoutMs: number; idleTimeoutMs: number }): OpenAiConnection {
  return { name: entry.name, baseUrl: entry.url, key: entry.key, headers: entry.headers, ...timeouts };
}
