import type { AppContext } from '../app-context.ts';
import type { Config } from '../config/config.ts';
import { invalidField } from '../../core/errors.ts';
import type { RoutingMetrics } from '../../core/models/attempts.ts';
import type { LessonMemory, ModelBackend } from '../../core/models/model.ts';
import type { PassOn } from '../../core/models/pass-on.ts';
import type { PresetFinder } from '../../core/stores/preset.ts';
import type { SendOutbound } from '../../core/outbound.ts';
import { createDemoBackend, demoModel } from '../../models/demo/demo-model.ts';
import { createModelCatalog, type ModelCatalog } from '../../models/catalog/model-catalog.ts';
import type { CatalogBackend } from '../../models/catalog/catalog-backend.ts';
import { withPresets } from '../../models/catalog/preset-models.ts';
import { writeBody } from '../../models/transport/write-body.ts';
import { RefusalMemory } from '../../models/remedies/refusal-memory.ts';
import { createBackend, type BackendParts, type PassedRoute } from './create-backend.ts';

export interface Models {
  models: ModelCatalog;
  /** Lessons learned from rejections by backends. */
  lessons: LessonMemory;
  passOn: PassOn;
}

interface ModelParts {
  presets: PresetFinder;
  send: SendOutbound;
  backends: CatalogBackend[] | undefined;
  metrics?: RoutingMetrics;
}

/** The catalog of models and presets. `backends` replaces the configured ones. */
export function composeModels({ config, now, elapsed }: AppContext, { presets, send, backends, metrics }: ModelParts): Models {
  const memory = new RefusalMemory(now);
  const { backends: configured, routes } = createBackends(config, send, { memory, elapsed, metrics });
  const models = withPresets(createModelCatalog({ backends: backends ?? configured, now: elapsed, memory }), presets);
  return {
    models,
    lessons: memory,
    async passOn({ path, model, content, signal, caller }) {
      if ((await presets.find(model)) !== undefined) {
        throw invalidField('model', `"${model.slice(0, 200)}" is a preset, which can only chat. Name a model of a backend instead.`);
      }
      const { backend, name } = await models.require(model, signal, caller);
      const route = routes.get(backend);
      if (route === undefined || !route.paths.includes(path)) {
        throw invalidField(
          'model',
          `"${model.slice(0, 200)}" has no ${path}. Choose a model of a backend that speaks the OpenAI API and has it.`,
        );
      }
      const { contentType, bytes } =
        content.type === 'form'
          ? { contentType: content.contentType, bytes: content.bytesFor(name) }
          : { contentType: 'application/json', bytes: await writeBody({ ...content.body, model: name }) };
      return route.pass({ path, model: name, signal, caller: caller.id, contentType, bytes });
    },
  };
}

interface Backends {
  backends: CatalogBackend[];
  /** Where each backend takes requests that are passed on to it, and which. */
  routes: Map<ModelBackend, PassedRoute>;
}

/** The configured backends. Without any, the demo model too; an Ollama at the default address does not count as configured. */
export function createBackends(
  config: Config,
  send: SendOutbound,
  { memory = new RefusalMemory(), elapsed = () => performance.now(), metrics }: Partial<Omit<BackendParts, 'send'>> = {},
): Backends {
  const routes: Backends['routes'] = new Map();
  const backends = config.backends.map((entry): CatalogBackend => {
    const { backend, route } = createBackend(entry, config, { send, memory, elapsed, metrics });
    if (route !== undefined) routes.set(backend.backend, route);
    return backend;
  });
  if (config.demo ?? !config.backends.some((entry) => entry.isExplicit)) {
    backends.push({ name: 'demo', isLocal: true, backend: createDemoBackend(), list: async () => [demoModel] });
  }
  return { backends, routes };
}
