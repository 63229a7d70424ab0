import type { AskingCaller, FoundModel, ModelRecord } from '../../core/models/model.ts';
import type { PresetFinder, PresetRecord } from '../../core/stores/preset.ts';
import { whenThere, type MaybePromise } from '../../shared/async/maybe-promise.ts';
import type { ModelCatalog } from './model-catalog.ts';

interface Asking {
  signal: AbortSignal;
  caller: AskingCaller | undefined;
}

/** Adds the presets to a model catalog. A preset hides a model with the same id, and resolves to its base model under the preset's name. */
export function withPresets(models: ModelCatalog, presets: PresetFinder): ModelCatalog {
  function require(id: string, how: Asking, below: readonly string[] = []): MaybePromise<FoundModel> {
    return whenThere(below.includes(id) ? undefined : presets.find(id), (preset) => {
      if (preset === undefined) return models.require(id, how.signal, how.caller);
      return whenThere(require(preset.baseModel, how, [...below, id]), ({ describe: _base, ...found }) => ({
        ...found,
        record: toRecord(preset, found.record),
      }));
    });
  }
  return {
    backends: () => models.backends(),
    loaded: (signal) => models.loaded(signal),
    factsOf: (backend) => models.factsOf(backend),
    require: (id, signal, caller) => require(id, { signal, caller }),
    async list(signal, caller) {
      const [listed, made] = await Promise.all([models.list(signal, caller), presets.list()]);
      const byId = new Map(listed.map((record) => [record.id, record]));
      const ids = new Set(made.map(({ id }) => id));
      const baseOf = ({ baseModel }: PresetRecord): ModelRecord | undefined => byId.get(baseModel) ?? byId.get(`${baseModel}:latest`);
      return [...made.map((preset) => toRecord(preset, baseOf(preset))), ...listed.filter(({ id }) => !ids.has(id))];
    },
  };
}

/** A preset has the capabilities of its base model. */
function toRecord(preset: PresetRecord, base: ModelRecord | undefined): ModelRecord {
  return {
    id: preset.id,
    owner: 'toolwharf',
    isLocal: base?.isLocal ?? true,
    created: Math.floor(preset.createdAt / 1000),
    capabilities: base?.capabilities,
    details: {
      name: preset.name ?? preset.id,
      preset: { base_model: preset.baseModel, ...(preset.description !== undefined && { description: preset.description }) },
    },
  };
}
