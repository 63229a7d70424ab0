import type { PresetRecord } from '../../../core/stores/preset.ts';
import type { Registry } from '../../../core/stores/registry.ts';
import { whenThere } from '../../../shared/async/maybe-promise.ts';
import { execute, hasChanged, selectFirst, type Script } from '../database.ts';
import { readPreset, writePreset } from './preset-row.ts';
import { missing } from './registry-errors.ts';
import type { RegistryRecords } from './registry-records.ts';

type Presets = Pick<Registry, 'listPresets' | 'createPreset' | 'changePreset' | 'deletePreset'>;

export function presetsIn(records: RegistryRecords): Presets {
  return {
    listPresets: () => whenThere(records.read(), ({ presets }) => presets.list()),
    createPreset: (preset, most) => records.write('presets', preset.id, () => insertPreset(preset, most)),
    changePreset: (id, change) => records.write('presets', id, () => updatePreset(id, change)),
    deletePreset: (id) => records.delete('presets', id, () => hasChanged('DELETE FROM presets WHERE id = ?', id)),
  };
}

function* insertPreset(preset: PresetRecord, most: number): Script<'created' | 'taken' | 'full'> {
  if ((yield* selectFirst(findSql, preset.id)) !== undefined) return 'taken';
  const stored = yield* selectFirst<{ number: number }>('SELECT count(*) AS number FROM presets');
  if ((stored?.number ?? 0) >= most) return 'full';
  const sql = 'INSERT INTO presets (id, position, record) SELECT ?, coalesce(max(position), 0) + 1, ? FROM presets';
  yield* execute(sql, preset.id, writePreset(preset));
  return 'created';
}

function* updatePreset(id: string, change: (preset: PresetRecord) => PresetRecord): Script<PresetRecord> {
  const row = yield* selectFirst<{ record: string }>(findSql, id);
  if (row === undefined) throw missing('preset', id);
  const changed = change(readPreset(row.record));
  yield* execute('UPDATE presets SET record = ? WHERE id = ?', writePreset(changed), id);
  return changed;
}

const findSql = 'SELECT record FROM presets WHERE id = ?';
