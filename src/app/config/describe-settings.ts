import { isDeepStrictEqual } from 'node:util';
import type { ConfigFile } from './config-file.ts';
import { createSettingsReader } from './read-settings.ts';
import type { SettingPlace } from './read-settings.ts';
import { settingNames, settingTable } from './settings.ts';
import type { Setting } from './settings.ts';

/** A setting whose value is not the default. */
export interface SettingInForce {
  name: string;
  place: SettingPlace;
  /** The value for people, shortened; `set` for a secret. */
  shown: string;
}

/** The longest part of a value that is shown: templates are pages long. */
const shownLength = 120;

/** Every setting that differs from its default, the environment's before the file's. @throws ConfigError */
export function describeSettings(environment: NodeJS.ProcessEnv, file: ConfigFile | undefined): SettingInForce[] {
  const reader = createSettingsReader(environment, file);
  return settingNames().flatMap((name) => {
    const place = (['environment', 'file'] as const).find((candidate) => reader.readAt(name, candidate) !== undefined);
    if (place === undefined) return [];
    const value: unknown = reader.readAt(name, place);
    const setting: Setting<unknown> = settingTable[name];
    const isDefault = setting.fallback !== undefined && isDeepStrictEqual(value, setting.parse(setting.fallback));
    return isDefault ? [] : [{ name, place, shown: setting.isSecret === true ? 'set' : show(value) }];
  });
}

/** Every setting with what is in force; secrets as `set`. @throws ConfigError */
export function listSettings(
  environment: NodeJS.ProcessEnv,
  file: ConfigFile | undefined,
): { name: string; origin: SettingPlace | 'default'; value: string | null }[] {
  const changed = new Map(describeSettings(environment, file).map((setting) => [setting.name, setting]));
  return settingNames().map((name) => {
    const own = changed.get(name);
    if (own !== undefined) return { name, origin: own.place, value: own.shown };
    const setting: Setting<unknown> = settingTable[name];
    return { name, origin: 'default', value: setting.fallback ?? setting.shownDefault ?? null };
  });
}

/** Variables that begin like ours and are none: a misspelt one has no effect and says nothing. */
export function findUnknownVariables(environment: NodeJS.ProcessEnv): string[] {
  const known = new Set<string>(settingNames());
  return Object.keys(environment).filter((name) => name.startsWith('TOOLWHARF_') && !known.has(name));
}

function show(value: unknown): string {
  const written = (Array.isArray(value) ? value.join('; ') : String(value)).replaceAll(/\s+/g, ' ');
  // A key that was put into the wrong variable must not be printed.
  if (/\bsk-/.test(written)) return 'set';
  return written.length > shownLength ? `${written.slice(0, shownLength)}… (${written.length} characters)` : written;
}
