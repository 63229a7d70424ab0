import { GatewayError, unknownId } from '../core/errors.ts';
import { copyJson, isJsonObject, type JsonObject } from '../shared/json/json.ts';
import type { PresetFinder, PresetRecord } from '../core/stores/preset.ts';
import type { Registry } from '../core/stores/registry.ts';
import { deepFreeze } from '../shared/json/deep-freeze.ts';
import { whenThere, type MaybePromise } from '../shared/async/maybe-promise.ts';
import { parsePreset, parseStoredPreset, toPresetWire } from './preset-schema.ts';
import { parseExactly } from '../shared/json/parse-exactly.ts';

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
  onChanged?: () => void;
}

/** All presets are one fact in the registry: they are few, and are read together. */
const factName = 'presets';

export function createPresetStore(options: PresetStoreOptions): PresetStore {
  return new RegisteredPresets(options);
}

class RegisteredPresets implements PresetStore {
  readonly #options: PresetStoreOptions;
  readonly #fixedPresets: readonly PresetRecord[];
  #text: string | undefined;
  #stored: PresetRecord[] = [];
  /** Those of the file, and the stored ones with other ids. */
  #all: readonly PresetRecord[];
  #readAt = -Infinity;
  /** Counts changes: what was read before one is not what is stored afterwards. */
  #changes = 0;
  #lastChange: Promise<unknown> = Promise.resolve();

  constructor(options: PresetStoreOptions) {
    this.#options = options;
    this.#fixedPresets = options.fixed.map((preset) => deepFreeze(copyJson(preset)));
    this.#all = this.#fixedPresets;
  }

  async list(): Promise<PresetRecord[]> {
    return [...(await this.#readAll())];
  }

  find(id: string): MaybePromise<PresetRecord | undefined> {
    return whenThere(this.#readAll(), (presets) => presets.find((preset) => preset.id === id));
  }

  create(value: unknown): Promise<PresetRecord> {
    return this.#inSequence(async (presets) => {
      const preset = parsePreset(value, { origin: 'database', createdAt: this.#options.now() });
      if (this.#isFixed(preset.id) || presets.some(({ id }) => id === preset.id))
        throw new GatewayError('conflict', `There is a preset "${preset.id}" already. Change it, or choose another id.`, { param: 'id' });
      if (presets.length >= presetsLimit)
        throw new GatewayError('conflict', `There are ${presetsLimit} presets already. Delete one first.`);
      await this.#save([...presets, preset]);
      return preset;
    });
  }

  change(id: string, value: unknown): Promise<PresetRecord> {
    return this.#inSequence(async (presets) => {
      const before = this.#requireStored(presets, id);
      if (!isJsonObject(value)) throw new GatewayError('invalid_request', 'The body must be an object with the fields to change.');
      const merged: JsonObject = { ...toPresetWire(before), ...value, id };
      const preset = parsePreset(merged, before);
      await this.#save(presets.map((other) => (other === before ? preset : other)));
      return preset;
    });
  }

  delete(id: string): Promise<void> {
    return this.#inSequence(async (presets) => {
      const before = this.#requireStored(presets, id);
      await this.#save(presets.filter((other) => other !== before));
    });
  }

  #isFixed(id: string): boolean {
    return this.#fixedPresets.some((preset) => preset.id === id);
  }

  #isFresh(): boolean {
    const time = this.#options.now();
    return time >= this.#readAt && time - this.#readAt < (this.#options.cacheMs ?? 0);
  }

  /** `isStaleAllowed`: fall back to the last presets read when the store is down, so that chats still work. A change must not start from stale presets. */
  async #readStored({ isStaleAllowed = false } = {}): Promise<PresetRecord[]> {
    if (this.#isFresh()) return this.#stored;
    const time = this.#options.now();
    const changes = this.#changes;
    let found: string | undefined;
    try {
      found = await this.#options.registry.readFact(factName);
    } catch (error) {
      if (isStaleAllowed && error instanceof GatewayError && error.code === 'storage_unavailable') return this.#stored;
      throw error;
    }
    if (found !== this.#text) {
      this.#stored = parseStored(found);
      this.#all = [...this.#fixedPresets, ...this.#stored.filter(({ id }) => !this.#isFixed(id))];
    }
    this.#text = found;
    if (changes === this.#changes) this.#readAt = time;
    return this.#stored;
  }

  #readAll(): MaybePromise<readonly PresetRecord[]> {
    return this.#isFresh() ? this.#all : this.#readStored({ isStaleAllowed: true }).then(() => this.#all);
  }

  async #save(presets: readonly PresetRecord[]): Promise<void> {
    try {
      await this.#options.registry.writeFact(factName, JSON.stringify(presets.map(toStored)));
    } finally {
      // Those who read while it was written got the earlier presets.
      this.#changes += 1;
      this.#readAt = -Infinity;
    }
    this.#options.onChanged?.();
  }

  /** Runs changes one at a time, each on the result of the one before. */
  #inSequence<Value>(change: (presets: readonly PresetRecord[]) => Promise<Value>): Promise<Value> {
    const result = this.#lastChange.then(async () => {
      this.#readAt = -Infinity;
      return change(await this.#readStored());
    });
    this.#lastChange = result.catch(() => undefined);
    return result;
  }

  #requireStored(presets: readonly PresetRecord[], id: string): PresetRecord {
    if (this.#isFixed(id))
      throw new GatewayError('read_only', `The preset "${id}" comes from the configuration file. Change it there and restart the gateway.`);
    const found = presets.find((preset) => preset.id === id);
    if (found === undefined) throw unknownId('preset', id, 'GET /api/presets');
    return found;
  }
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
