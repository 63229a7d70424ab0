import type { BackendConfig, Config } from '../config/config.ts';
import type { RoutingMetrics } from '../../core/models/attempts.ts';
import type { ModelLessons } from '../../core/models/model.ts';
import { passedPaths, type PassedAnswer, type PassedPath } from '../../core/models/pass-on.ts';
import type { SendOutbound } from '../../core/outbound.ts';
import type { CatalogBackend } from '../../models/catalog/catalog-backend.ts';
import { adaptBackend } from '../../models/adapt-backend.ts';
import { createAnthropicBackend, ListedModels } from '../../models/anthropic/anthropic.ts';
import { anthropicForms } from '../../models/anthropic/anthropic-schemas.ts';
import { picturesOfBackend } from '../../models/catalog/tool-pictures.ts';
import { ollamaForms, responsesForms } from '../../models/constrain-output.ts';
import { createOllama } from '../../models/ollama/ollama.ts';
import { chooseApi } from '../../models/openai-responses/choose-api.ts';
import { createResponsesBackend } from '../../models/openai-responses/openai-responses.ts';
import { createOpenAiBackend, embedTexts, listOpenAiModels, type OpenAiConnection } from '../../models/openai/openai-compatible.ts';
import { passOn } from '../../models/openai/pass-on.ts';
import type { RefusalMemory } from '../../models/remedies/refusal-memory.ts';
import { AddressPool } from '../../models/routing/address-pool.ts';
import { createRoutedBackend } from '../../models/routing/routed-backend.ts';
import { profileOf } from '../../models/schema-profiles/to-profile.ts';
import type { SentBytes, SentFor } from '../../models/transport/backend-client.ts';

/** Which requests a backend takes that are passed on to it as they are, and how. */
export interface PassedRoute {
  paths: readonly PassedPath[];
  pass: (request: PassedRequest) => Promise<PassedAnswer>;
}

type PassedRequest = { path: PassedPath; model: string; caller: string } & Pick<SentFor, 'signal' | 'trace'> & SentBytes;

interface CreatedBackend {
  backend: CatalogBackend;
  /** Absent: nothing is passed on. */
  route?: PassedRoute;
}

type Timeouts = Pick<Config, 'firstByteTimeoutMs' | 'idleTimeoutMs'>;

export interface BackendParts {
  send: SendOutbound;
  memory: RefusalMemory;
  /** Milliseconds of a monotonic clock. */
  elapsed: () => number;
  metrics?: RoutingMetrics | undefined;
}

/** The backend of one entry. With several addresses, or a limit of requests, it has a backend for each address behind it. */
export function createBackend(entry: BackendConfig, timeouts: Timeouts, parts: BackendParts): CreatedBackend {
  const { name, urls, maxConcurrent, queue, fallbacks } = entry;
  const [first, ...others] = urls.map((address) => createAtAddress({ ...entry, url: address }, timeouts, parts));
  if (first === undefined) throw new Error(`The backend ${name} has no address.`);
  const own = fallbacks === undefined ? {} : { fallbacks };
  if (others.length === 0 && maxConcurrent === undefined) return { ...first, backend: { ...first.backend, ...own } };
  const pool = new AddressPool({ name, addresses: urls.length, maxConcurrent, queue, elapsed: parts.elapsed, metrics: parts.metrics });
  const backend = createRoutedBackend([first.backend, ...others.map((other) => other.backend)], pool, urls);
  const routes = [first, ...others].flatMap(({ route }) => route ?? []);
  return { backend: { ...backend, ...own }, ...(first.route !== undefined && { route: routeThrough(pool, first.route, routes) }) };
}

function routeThrough(pool: AddressPool, { paths }: PassedRoute, routes: readonly PassedRoute[]): PassedRoute {
  return {
    paths,
    async pass(request) {
      const { model, caller, signal, bytes } = request;
      // A form that is read as it is sent cannot be sent again.
      const mayMove = (): boolean => typeof bytes === 'string' || bytes instanceof Uint8Array;
      return pool.run({ model, owner: caller, signal, mayMove }, async (index) => {
        const route = routes[index];
        if (route === undefined) throw new Error(`There is no address ${index}.`);
        return route.pass(request);
      });
    },
  };
}

/** The backend at one address, with everything that requests to it need: schemas in its form, remedies, structured output. */
function createAtAddress(
  entry: BackendConfig,
  { firstByteTimeoutMs, idleTimeoutMs }: Timeouts,
  { send, memory }: Pick<BackendParts, 'send' | 'memory'>,
): CreatedBackend {
  const { kind, name, url, prefix, schemas, isExplicit } = entry;
  const connection = { ...entry, key: entry.key, baseUrl: url, firstByteTimeoutMs, idleTimeoutMs };
  const toolPictures = picturesOfBackend(entry);
  const common = { name, isOptional: !isExplicit, ...(prefix !== undefined && { prefix }), ...(toolPictures && { toolPictures }) };
  const isProfileStated = schemas !== undefined;
  const lessonsOf = (model: string): ModelLessons => memory.of(name, model);
  /** A server with the rest of OpenAI's API: its list of models, embeddings, and what is passed on. */
  const withOpenAiRoutes = (backend: CatalogBackend['backend']): CreatedBackend => {
    const list: CatalogBackend['list'] = (signal) => listOpenAiModels(connection, send, signal);
    const route = routeTo(connection, send, passedPaths);
    return { backend: { ...common, isLocal: false, backend, list, embed: embedTexts(connection, send) }, route };
  };
  switch (kind) {
    case 'ollama': {
      const ollama = createOllama(connection, send);
      const backend = adaptBackend(ollama.backend, { provider: 'ollama', profile: 'ollama', forms: ollamaForms }, lessonsOf);
      // Ollama serves OpenAI's embeddings below /v1.
      const route = routeTo({ ...connection, baseUrl: `${url}/v1` }, send, ['/embeddings']);
      return { backend: { ...common, isLocal: true, ...ollama, backend }, route };
    }
    case 'openai': {
      const chat = createOpenAiBackend(connection, send);
      // OpenAI itself has both APIs.
      const isOpenAi = profileOf(url) === 'openai';
      const native = isOpenAi ? chooseApi({ chat, responses: createResponsesBackend(connection, send, { memory }) }, lessonsOf) : chat;
      return withOpenAiRoutes(adaptBackend(native, { provider: 'openai', profile: schemas ?? profileOf(url), isProfileStated }, lessonsOf));
    }
    case 'openai-responses': {
      const native = createResponsesBackend(connection, send, { memory });
      return withOpenAiRoutes(
        adaptBackend(native, { provider: 'openai', profile: schemas ?? 'openai', isProfileStated, forms: responsesForms }, lessonsOf),
      );
    }
    case 'anthropic': {
      const models = new ListedModels(connection, send);
      const anthropic = createAnthropicBackend(connection, send, { memory, factsOf: (model) => models.factsOf(model) });
      const backend = adaptBackend(
        anthropic,
        { provider: 'anthropic', profile: schemas ?? 'plain', isProfileStated, forms: anthropicForms },
        lessonsOf,
      );
      return { backend: { ...common, isLocal: false, backend, list: (signal) => models.list(signal) } };
    }
  }
}

function routeTo(connection: OpenAiConnection, send: SendOutbound, paths: readonly PassedPath[]): PassedRoute {
  return { paths, pass: ({ model: _model, ...request }) => passOn(connection, send, request) };
}
