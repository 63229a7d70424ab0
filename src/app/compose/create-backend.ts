import type { BackendConfig, Config } from '../config/config.ts';
import type { ModelLessons } from '../../core/models/model.ts';
import { passedPaths, type PassedPath } from '../../core/models/pass-on.ts';
import type { SendOutbound } from '../../core/outbound.ts';
import type { CatalogBackend } from '../../models/catalog/catalog-backend.ts';
import { adaptBackend } from '../../models/adapt-backend.ts';
import { ollamaForms } from '../../models/constrain-output.ts';
import { createOllama } from '../../models/ollama/ollama.ts';
import { createOpenAiBackend, embedTexts, listOpenAiModels, type OpenAiConnection } from '../../models/openai/openai-compatible.ts';
import type { RefusalMemory } from '../../models/remedies/refusal-memory.ts';
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
  const common = { name, isOptional: !isExplicit, ...(prefix !== undefined && { prefix }) };
  const lessonsOf = (model: string): ModelLessons => memory.of(name, model);
  switch (kind) {
    case 'ollama': {
      const ollama = createOllama(connection, send);
      const backend = adaptBackend(ollama.backend, { profile: 'ollama', forms: ollamaForms }, lessonsOf);
      // Ollama serves OpenAI's embeddings below /v1.
      const route = { connection: { ...connection, baseUrl: `${url}/v1` }, paths: ['/embeddings'] as const };
      return { backend: { ...common, isLocal: true, ...ollama, backend }, route };
    }
    case 'openai': {
      const backend = adaptBackend(
        createOpenAiBackend(connection, send),
        { profile: schemas ?? profileOf(url), isProfileStated: schemas !== undefined },
        lessonsOf,
      );
      const list: CatalogBackend['list'] = (signal) => listOpenAiModels(connection, send, signal);
      const route = { connection, paths: passedPaths };
      return { backend: { ...common, isLocal: false, backend, list, embed: embedTexts(connection, send) }, route };
    }
    case 'openai-responses':
    case 'anthropic':
      throw new Error(`Backends of the type ${kind} are not there yet.`);
  }
}
