import type { PresetRecord, ReadPreset } from '../../../core/stores/preset.ts';
import { deepFreeze } from '../../../shared/json/deep-freeze.ts';
import type { JsonObject } from '../../../shared/json/json.ts';
import { parseExactly } from '../../../shared/json/parse-exactly.ts';
import { parseStoredPreset, toPresetWire } from '../../preset-schema.ts';

/** A damaged one keeps nobody from reading keys and tool servers. */
export function readStoredPreset(text: string): ReadPreset {
  try {
    return readPreset(text);
  } catch (cause) {
    return { damaged: cause };
  }
}

/** @throws for a row that another program wrote */
export function readPreset(text: string): PresetRecord {
  const entry = parseExactly(text) as JsonObject;
  return deepFreeze(parseStoredPreset(entry, { origin: 'database', createdAt: Number(entry['created']) }));
}

export function writePreset(preset: PresetRecord): string {
  return JSON.stringify({ ...toPresetWire(preset), created: preset.createdAt });
}
