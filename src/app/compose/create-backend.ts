import type { BackendConfig, Config } from '../config/config.ts';
import type { ModelLessons } from '../../core/models/model.ts';
import { passedPaths, type PassedPath } from '../../core/models/pass-on.ts';
import type { SendOutbound } from '../../core/outbound.ts';
import type { CatalogBackend } from '../../models/catalog/catalog-backend.ts';
import { createAnthropicBackend, ListedModels } from '../../models/anthropic/anthropic.ts';
import { anthropicForms } from '../../models/anthropic/anthropic-schemas.ts';
import { picturesOfBackend } from '../../models/catalog/tool-pictures.ts';
import { constrainOutput, ollamaForms, openAiForms, responsesForms } from '../../models/constrain-output.ts';
import { createOllama } from '../../models/ollama/ollama.ts';
import { chooseApi } from '../../models/openai-responses/choose-api.ts';
import { createResponsesBackend } from '../../models/openai-responses/openai-responses.ts';
import { createOpenAiBackend, embedTexts, listOpenAiModels, type OpenAiConnection } from '../../models/openai/openai-compatible.ts';
import type { RefusalMemory } from '../../models/remedies/refusal-memory.ts';
import { repairFunctions } from '../../models/schema-profiles/repair-functions.ts';
import { profileOf } from '../../models/schema-profiles/to-profile.ts';

/** Where a backend takes requests that are passed on to it as they are, and which. */
export interface PassedRoute {
  connection: OpenAiConnection;
  paths: readonly PassedPath[];
}

interface CreatedBackend {
  backend: CatalogBackend;
  /** Absent: nothing is passed on. */
  route?: PassedRoute;
}

type Timeouts = Pick<Config, 'firstByteTimeoutMs' | 'idleTimeoutMs'>;

/** The backend of one entry, with everything that requests to it need: schemas in its form, remedies, structured output. */
export function createBackend(
  entry: BackendConfig,
  { firstByteTimeoutMs, idleTimeoutMs }: Timeouts,
  { send, memory }: { send: SendOutbound; memory: RefusalMemory },
): CreatedBackend {
  const { kind, name, url, prefix, schemas, isExplicit } = entry;
  const connection = { ...entry, key: entry.key, baseUrl: url, firstByteTimeoutMs, idleTimeoutMs };
  const toolPictures = picturesOfBackend(entry);
  const common = { name, isOptional: !isExplicit, ...(prefix !== undefined && { prefix }), ...(toolPictures && { toolPictures }) };
  const lessonsOf = (model: string): ModelLessons => memory.of(name, model);
  /** A server with the rest of OpenAI's API: its list of models, embeddings, and what is passed on. */
  const withOpenAiRoutes = (backend: CatalogBackend['backend']): CreatedBackend => {
    const list: CatalogBackend['list'] = (signal) => listOpenAiModels(connection, send, signal);
    const route = { connection, paths: passedPaths };
    return { backend: { ...common, isLocal: false, backend, list, embed: embedTexts(connection, send) }, route };
  };
  switch (kind) {
    case 'ollama': {
      const ollama = createOllama(connection, send);
      const backend = constrainOutput(repairFunctions(ollama.backend, 'ollama', lessonsOf), ollamaForms, lessonsOf);
      // Ollama serves OpenAI's embeddings below /v1.
      const route = { connection: { ...connection, baseUrl: `${url}/v1` }, paths: ['/embeddings'] as const };
      return { backend: { ...common, isLocal: true, ...ollama, backend }, route };
    }
    case 'openai': {
      const chat = createOpenAiBackend(connection, send, { memory });
      const profile = schemas ?? profileOf(url);
      // OpenAI itself has both APIs.
      const native =
        profileOf(url) === 'openai'
          ? chooseApi({ chat, responses: createResponsesBackend(connection, send, { memory }) }, lessonsOf)
          : chat;
      const backend = constrainOutput(repairFunctions(native, profile, lessonsOf), openAiForms, lessonsOf);
      return withOpenAiRoutes(backend);
    }
    case 'openai-responses': {
      const native = createResponsesBackend(connection, send, { memory });
      return withOpenAiRoutes(constrainOutput(repairFunctions(native, schemas ?? 'openai', lessonsOf), responsesForms, lessonsOf));
    }
    case 'anthropic': {
      const models = new ListedModels(connection, send);
      const anthropic = createAnthropicBackend(connection, send, { memory, factsOf: (model) => models.factsOf(model) });
      const backend = constrainOutput(repairFunctions(anthropic, schemas ?? 'plain', lessonsOf), anthropicForms, lessonsOf);
      return { backend: { ...common, isLocal: false, backend, list: (signal) => models.list(signal) } };
    }
  }
}
