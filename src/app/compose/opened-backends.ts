import { GatewayError, OutboundError } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import type { BackendConfig } from '../../core/models/backend-config.ts';
import type { ModelBackend } from '../../core/models/model.ts';
import type { SendOutbound } from '../../core/outbound.ts';
import type { CatalogBackend } from '../../models/catalog/catalog-backend.ts';
import { unreadableReason, type ListAs } from '../../models/catalog/explain-list-fault.ts';
import { limitModels } from '../../models/catalog/limit-models.ts';
import { createDemoBackend, demoModel } from '../../models/demo/demo-model.ts';
import { RefusalMemory } from '../../models/remedies/refusal-memory.ts';
import type { Config } from '../config/config.ts';
import { createBackend, type BackendParts, type PassedRoute } from './create-backend.ts';

type BackendSettings = Pick<Config, 'demo' | 'firstByteTimeoutMs' | 'idleTimeoutMs'>;

interface OpenedBackends {
  /**
   * The backends of these entries, the same object for an entry that has been there before. Without any, the demo model too; an Ollama at the default
   * address does not count.
   */
  of(entries: readonly BackendConfig[]): readonly CatalogBackend[];
  /** The route for requests that are passed on unchanged; undefined if the backend has none. Replaced backends keep theirs while chats still use them. */
  routeOf(backend: ModelBackend): PassedRoute | undefined;
}

interface OpeningParts extends BackendParts {
  /** Replaces the backends of the configuration. */
  configured?: readonly CatalogBackend[] | undefined;
}

/** Makes backends from entries, which may change while the gateway runs. */
export function createOpenedBackends(settings: BackendSettings, { configured, ...parts }: OpeningParts): OpenedBackends {
  const opened = new WeakMap<BackendConfig, CatalogBackend>();
  const routes = new WeakMap<ModelBackend, PassedRoute>();
  const demo: CatalogBackend = { name: 'demo', isLocal: true, backend: createDemoBackend(), list: async () => [demoModel] };
  let last: { entries: readonly BackendConfig[]; backends: readonly CatalogBackend[] } | undefined;

  function open(entry: BackendConfig): CatalogBackend {
    const known = opened.get(entry);
    if (known !== undefined) return known;
    const { backend: created, route } = createBackend(entry, settings, parts);
    if (route !== undefined) routes.set(created.backend, route);
    const backend = restrict(created, entry);
    opened.set(entry, backend);
    return backend;
  }

  function openAll(entries: readonly BackendConfig[]): CatalogBackend[] {
    if (configured !== undefined) return [...configured, ...entries.filter(({ origin }) => origin === 'api').map(open)];
    const isDemoShown = settings.demo ?? !entries.some(({ isExplicit }) => isExplicit);
    return [...entries.map(open), ...(isDemoShown ? [demo] : [])];
  }

  return {
    of(entries) {
      if (last?.entries !== entries) last = { entries, backends: openAll(entries) };
      return last.backends;
    },
    routeOf: (backend) => routes.get(backend),
  };
}

function restrict(backend: CatalogBackend, entry: BackendConfig): CatalogBackend {
  if (entry.unreadableSecrets !== undefined) {
    const reason = unreadableReason(entry);
    return { ...backend, list: () => Promise.reject(new GatewayError('storage_unavailable', reason)) };
  }
  return entry.models === undefined ? backend : limitModels(backend, entry.models);
}

/** Lists the models of a backend's servers, whichever of them the gateway offers. */
export function createModelLister(
  settings: BackendSettings,
  { send, signal }: { send: SendOutbound; signal: AbortSignal },
): (entry: BackendConfig) => ListAs {
  return (entry) => async (kind, url) => {
    const memory = new RefusalMemory();
    const { backend } = createBackend({ ...entry, kind, url, urls: [url] }, settings, { send, memory, elapsed: () => performance.now() });
    const late = AbortSignal.timeout(limits.modelListTimeoutMs);
    try {
      return await backend.list(AbortSignal.any([signal, late]));
    } catch (error) {
      signal.throwIfAborted();
      if (late.aborted) throw new OutboundError('timeout', `${url} did not answer within ${limits.modelListTimeoutMs / 1000} s.`, error);
      throw error;
    }
  };
}
