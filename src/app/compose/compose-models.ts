import type { AppContext } from '../app-context.ts';
import { invalidField } from '../../core/errors.ts';
import type { RoutingMetrics } from '../../core/models/attempts.ts';
import type { BackendConfig } from '../../core/models/backend-config.ts';
import type { LessonMemory } from '../../core/models/model.ts';
import type { PassOn } from '../../core/models/pass-on.ts';
import type { PresetFinder } from '../../core/stores/preset.ts';
import type { SendOutbound } from '../../core/outbound.ts';
import type { CatalogBackend } from '../../models/catalog/catalog-backend.ts';
import { withCurrentBackends } from '../../models/catalog/current-backends.ts';
import { createModelCatalog, type ModelCatalog } from '../../models/catalog/model-catalog.ts';
import { withPresets } from '../../models/catalog/preset-models.ts';
import { writeBody } from '../../models/transport/write-body.ts';
import { RefusalMemory } from '../../models/remedies/refusal-memory.ts';
import type { BackendEntries } from '../../storage/backend-entries.ts';
import { whenThere } from '../../shared/async/maybe-promise.ts';
import { createOpenedBackends } from './opened-backends.ts';

export interface Models {
  models: ModelCatalog;
  /** Lessons learned from rejections by backends. */
  lessons: LessonMemory;
  passOn: PassOn;
}

interface ModelParts {
  presets: PresetFinder;
  entries: Pick<BackendEntries, 'list'>;
  send: SendOutbound;
  /** Replaces those of the configuration. */
  backends: CatalogBackend[] | undefined;
  metrics?: RoutingMetrics;
}

/** The catalog of models and presets. */
export function composeModels({ config, now, elapsed }: AppContext, { presets, entries, send, backends, metrics }: ModelParts): Models {
  const memory = new RefusalMemory(now);
  const opened = createOpenedBackends(config, { send, memory, elapsed, metrics, configured: backends });
  const catalog = createModelCatalog({ backends: [], now: elapsed, memory });
  const open = (list: readonly BackendConfig[]): readonly CatalogBackend[] => opened.of(list);
  const current = withCurrentBackends(catalog, () => whenThere(entries.list(), open));
  const models = withPresets(current, presets);
  return {
    models,
    lessons: memory,
    async passOn({ path, model, content, signal, caller, trace }) {
      if ((await presets.find(model)) !== undefined) {
        throw invalidField('model', `"${model.slice(0, 200)}" is a preset, which can only chat. Name a model of a backend instead.`);
      }
      const { backend, name } = await models.require(model, signal, caller);
      const route = opened.routeOf(backend);
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
      return route.pass({ path, model: name, signal, caller: caller.id, trace, contentType, bytes });
    },
  };
}
