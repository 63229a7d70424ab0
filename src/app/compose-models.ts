import type { AppContext } from './app-context.ts';
import type { Config } from './config/config.ts';
import type { JsonObject } from '../shared/json.ts';
import { GatewayError } from '../core/errors.ts';
import type { ModelBackend } from '../core/model.ts';
import type { PresetBook } from '../core/preset.ts';
import type { SendOutbound } from '../core/outbound.ts';
import { createDemoBackend, demoModel } from '../models/demo/demo-model.ts';
import { createModelCatalog } from '../models/model-catalog.ts';
import type { CatalogBackend, ModelCatalog } from '../models/model-catalog.ts';
import { withPresets } from '../models/preset-models.ts';
import { constrainOutput, ollamaForms, openAiForms } from '../models/constrain-output.ts';
import { createOllama } from '../models/ollama/ollama.ts';
import { createOpenAiBackend, embed, embedTexts, listOpenAiModels } from '../models/openai/openai-compatible.ts';
import type { OpenAiConnection } from '../models/openai/openai-compatible.ts';
import { repairFunctions } from '../models/schema-profiles/repair-functions.ts';
import { profileOf } from '../models/schema-profiles/to-profile.ts';

export interface Models {
  models: ModelCatalog;
  /** Forwards an embeddings request to the backend of its model, and returns the JSON answer unchanged. */
  embed: (body: JsonObject, signal: AbortSignal) => Promise<{ status: number; body: Uint8Array }>;
}

/** The catalog of models and presets. `backends` replaces the configured ones. */
export function composeModels(
  { config, now }: AppContext,
  { presets, send, backends }: { presets: PresetBook; send: SendOutbound; backends: CatalogBackend[] | undefined },
): Models {
  const { backends: configured, embedders } = createBackends(config, send);
  const models = withPresets(createModelCatalog({ backends: backends ?? configured, now }), presets);
  return {
    models,
    async embed(body, signal) {
      const model = body['model'];
      if (typeof model !== 'string') throw new GatewayError('invalid_request', 'model: must name a model', { param: 'model' });
      const found = await models.require(model, signal);
      const connection = embedders.get(found.backend);
      if (connection === undefined) throw new GatewayError('invalid_request', `model: ${model} has no embeddings.`, { param: 'model' });
      return embed(connection, send, { body: { ...body, model: found.name }, signal });
    },
  };
}

interface Backends {
  backends: CatalogBackend[];
  /** The connection of each backend for embeddings requests. */
  embedders: Map<ModelBackend, OpenAiConnection>;
}

/** The configured backends. Without any, the demo model too; an Ollama at the default address does not count as configured. */
export function createBackends(config: Config, send: SendOutbound): Backends {
  const { firstByteTimeoutMs, idleTimeoutMs } = config;
  const embedders: Backends['embedders'] = new Map();
  const backends = config.backends.map((entry): CatalogBackend => {
    const { kind, name, url, prefix, schemas } = entry;
    const connection = { ...entry, key: entry.key, baseUrl: url, firstByteTimeoutMs, idleTimeoutMs };
    const common = { name, ...(prefix !== undefined && { prefix }) };
    if (kind === 'ollama') {
      const ollama = createOllama(connection, send);
      const backend = constrainOutput(repairFunctions(ollama.backend, 'ollama'), ollamaForms);
      // Ollama serves OpenAI's embeddings below /v1.
      embedders.set(backend, { ...connection, baseUrl: `${url}/v1` });
      return { ...common, isLocal: true, ...ollama, backend };
    }
    const repaired = repairFunctions(createOpenAiBackend(connection, send), schemas ?? profileOf(url));
    const backend = constrainOutput(repaired, openAiForms);
    embedders.set(backend, connection);
    const list: CatalogBackend['list'] = (signal) => listOpenAiModels(connection, send, signal);
    return { ...common, isLocal: false, backend, list, embed: embedTexts(connection, send) };
  });
  if (config.demo ?? !config.backends.some((entry) => entry.isExplicit)) {
    backends.push({ name: 'demo', isLocal: true, backend: createDemoBackend(), list: async () => [demoModel] });
  }
  return { backends, embedders };
}
