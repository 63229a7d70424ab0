import { GatewayError, unknownId } from '../core/errors.ts';
import type { JsonObject } from '../shared/json.ts';
import { copyJson, isJsonObject } from '../shared/json.ts';
import type { PresetFinder, PresetRecord } from '../core/models/preset.ts';
import type { Registry } from '../core/stores/registry.ts';
import { deepFreeze } from '../shared/deep-freeze.ts';
import { whenThere } from '../shared/maybe-promise.ts';
import type { MaybePromise } from '../shared/maybe-promise.ts';
import { parsePreset, parseStoredPreset, toPresetWire } from './preset-schema.ts';
import { parseExactly } from '../shared/parse-exactly.ts';

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
  registry: Pick<Registry, 'readFact' | 'writeFact'>;
  /** From the configuration file. */
  fixed: readonly PresetRecord[];
  /** Milliseconds since 1970. */
  now: () => number;
  /** How long presets are cached, in milliseconds; changes by this process show at once. Default 0. */
  cacheMs?: number;
}

/** All presets are one fact in the registry: they are few, and are read together. */
const factName = 'presets';

export function createPresetStore({ registry, fixed, now, cacheMs = 0 }: PresetStoreOptions): PresetStore {
  const fixedPresets = fixed.map((preset) => deepFreeze(copyJson(preset)));
  const isFixed = (id: string): boolean => fixedPresets.some((preset) => preset.id === id);
  let text: string | undefined;
  let stored: PresetRecord[] = [];
  /** Those of the file, and the stored ones with other ids. */
  let all: readonly PresetRecord[] = fixedPresets;
  let readAt = -Infinity;
  let lastChange: Promise<unknown> = Promise.resolve();

  function isFresh(): boolean {
    const time = now();
    return time >= readAt && time - readAt < cacheMs;
  }

  /** `isStaleAllowed`: fall back to the last presets read when the store is down, so that chats go on. A change must not start from stale presets. */
  async function readStored({ isStaleAllowed = false } = {}): Promise<PresetRecord[]> {
    if (isFresh()) return stored;
    const time = now();
    let found: string | undefined;
    try {
      found = await registry.readFact(factName);
    } catch (error) {
      if (isStaleAllowed && error instanceof GatewayError && error.code === 'storage_unavailable') return stored;
      throw error;
    }
    if (found !== text) {
      stored = parseStored(found);
      all = [...fixedPresets, ...stored.filter(({ id }) => !isFixed(id))];
    }
    text = found;
    readAt = time;
    return stored;
  }

  function readAll(): MaybePromise<readonly PresetRecord[]> {
    return isFresh() ? all : readStored({ isStaleAllowed: true }).then(() => all);
  }

  async function save(presets: readonly PresetRecord[]): Promise<void> {
    readAt = -Infinity;
    await registry.writeFact(factName, JSON.stringify(presets.map(toStored)));
  }

  /** Runs changes one at a time, each on the result of the one before. */
  function inSequence<Value>(change: (presets: readonly PresetRecord[]) => Promise<Value>): Promise<Value> {
    const result = lastChange.then(async () => {
      readAt = -Infinity;
      return change(await readStored());
    });
    lastChange = result.catch(() => undefined);
    return result;
  }

  function requireStored(presets: readonly PresetRecord[], id: string): PresetRecord {
    if (isFixed(id))
      throw new GatewayError('read_only', `The preset "${id}" comes from the configuration file. Change it there and restart the gateway.`);
    const found = presets.find((preset) => preset.id === id);
    if (found === undefined) throw unknownId('preset', id, 'GET /api/presets');
    return found;
  }

  return {
    list: async () => [...(await readAll())],
    find: (id) => whenThere(readAll(), (presets) => presets.find((preset) => preset.id === id)),
    create: (value) =>
      inSequence(async (presets) => {
        const preset = parsePreset(value, { origin: 'database', createdAt: now() });
        if (isFixed(preset.id) || presets.some(({ id }) => id === preset.id))
          throw new GatewayError('conflict', `There is a preset "${preset.id}" already. Change it, or choose another id.`, { param: 'id' });
        if (presets.length >= presetsLimit)
          throw new GatewayError('conflict', `There are ${presetsLimit} presets already. Delete one first.`);
        await save([...presets, preset]);
        return preset;
      }),
    change: (id, value) =>
      inSequence(async (presets) => {
        const before = requireStored(presets, id);
        if (!isJsonObject(value)) throw new GatewayError('invalid_request', 'The body must be an object with the fields to change.');
        const merged: JsonObject = { ...toPresetWire(before), ...value, id };
        const preset = parsePreset(merged, before);
        await save(presets.map((other) => (other === before ? preset : other)));
        return preset;
      }),
    delete: (id) =>
      inSequence(async (presets) => {
        const before = requireStored(presets, id);
        await save(presets.filter((other) => other !== before));
      }),
  };
}

function toStored(preset: PresetRecord): JsonObject {
  return { ...toPresetWire(preset), created: preset.createdAt };
}

/** @throws GatewayError `storage_unavailable` for unreadable presets, so that a change never overwrites them. */
function parseStored(text: string | undefined): PresetRecord[] {
  if (text === undefined) return [];
  try {
    return (parseExactly(text) as JsonObject[]).map((entry) =>
      deepFreeze(parseStoredPreset(entry, { origin: 'database', createdAt: Number(entry['created']) })),
    );
  } catch (cause) {
    throw new GatewayError('storage_unavailable', 'The stored presets are damaged. Restore the database from a backup.', { cause });
  }
}
