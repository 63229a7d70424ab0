import { GatewayError, unknownId } from '../core/errors.ts';
import { copyJson, isJsonObject, type JsonObject } from '../shared/json/json.ts';
import type { PresetFinder, PresetRecord, ReadPreset } from '../core/stores/preset.ts';
import type { Registry } from '../core/stores/registry.ts';
import { deepFreeze } from '../shared/json/deep-freeze.ts';
import { whenThere, type MaybePromise } from '../shared/async/maybe-promise.ts';
import { keepLast } from '../shared/keep-last.ts';
import { parsePreset, toPresetWire } from './preset-schema.ts';

/** Stored presets, which are always read together. */
const presetsLimit = 500;

/** Every change is durable when its promise resolves. */
export interface PresetStore extends PresetFinder {
  /** @throws GatewayError `invalid_request`; `conflict` if the id is taken or there are too many presets */
  create(value: unknown): Promise<PresetRecord>;
  /** Absent fields keep their value, `null` removes it. @throws GatewayError `not_found`, `read_only`, `invalid_request` */
  change(id: string, value: unknown): Promise<PresetRecord>;
  /** @throws GatewayError `not_found`, `read_only` */
  delete(id: string): Promise<void>;
}

interface PresetStoreOptions {
  registry: Pick<Registry, 'listPresets' | 'createPreset' | 'changePreset' | 'deletePreset'>;
  /** From the configuration file. */
  fixed: readonly PresetRecord[];
  /** Milliseconds since 1970. */
  now: () => number;
  onChanged?: () => void;
}

export function createPresetStore({ registry, fixed: given, now, onChanged }: PresetStoreOptions): PresetStore {
  const fixed = given.map((preset) => deepFreeze(copyJson(preset)));
  const isFixed = (id: string): boolean => fixed.some((preset) => preset.id === id);
  /** While the store cannot be read, chats go on with the last presets that were. */
  let last: readonly PresetRecord[] = fixed;

  const addFixed = keepLast((stored: readonly ReadPreset[]): readonly PresetRecord[] => [
    ...fixed,
    ...stored.map(requireReadable).filter(({ id }) => !isFixed(id)),
  ]);
  const noteRead = (stored: readonly ReadPreset[]): readonly PresetRecord[] => (last = addFixed(stored));

  function list(): MaybePromise<readonly PresetRecord[]> {
    const stored = registry.listPresets();
    return stored instanceof Promise ? stored.then(noteRead, (error: unknown) => lastKnown(error, last)) : noteRead(stored);
  }

  function requireChangeable(id: string): void {
    if (!isFixed(id)) return;
    throw new GatewayError('read_only', `The preset "${id}" comes from the configuration file. Change it there and restart the gateway.`);
  }

  return {
    list: async () => [...(await list())],
    find: (id) => whenThere(list(), (presets) => presets.find((preset) => preset.id === id)),

    async create(value) {
      const preset = parsePreset(value, { origin: 'database', createdAt: now() });
      const result = isFixed(preset.id) ? 'taken' : await registry.createPreset(preset, presetsLimit);
      if (result === 'taken')
        throw new GatewayError('conflict', `There is a preset "${preset.id}" already. Change it, or choose another id.`, { param: 'id' });
      if (result === 'full') throw new GatewayError('conflict', `There are ${presetsLimit} presets already. Delete one first.`);
      onChanged?.();
      return preset;
    },

    async change(id, value) {
      requireChangeable(id);
      if (!isJsonObject(value)) throw new GatewayError('invalid_request', 'The body must be an object with the fields to change.');
      const changed = await registry
        .changePreset(id, (before) => parsePreset({ ...toPresetWire(before), ...value, id } satisfies JsonObject, before))
        .catch((error: unknown) => {
          throw error instanceof GatewayError && error.code === 'not_found' ? unknownPreset(id) : error;
        });
      onChanged?.();
      return changed;
    },

    async delete(id) {
      requireChangeable(id);
      if (!(await registry.deletePreset(id))) throw unknownPreset(id);
      onChanged?.();
    },
  };
}

/** @throws GatewayError `storage_unavailable` for unreadable presets, so that no list is shown without them */
export function requireReadable(preset: ReadPreset): PresetRecord {
  if (!('damaged' in preset)) return preset;
  throw new GatewayError('storage_unavailable', 'A stored preset is damaged. Restore the database from a backup.', {
    cause: preset.damaged,
  });
}

function unknownPreset(id: string): GatewayError {
  return unknownId('preset', id, 'GET /api/presets');
}

/** @throws the error, unless the store cannot be read */
function lastKnown(error: unknown, last: readonly PresetRecord[]): readonly PresetRecord[] {
  if (error instanceof GatewayError && error.code === 'storage_unavailable') return last;
  throw error;
}
