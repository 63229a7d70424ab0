import { isDeepStrictEqual } from 'node:util';
import type { ShownSetting } from '../../http/routes/gateway/gateway.ts';
import { isJsonObject, ownValue, type JsonValue } from '../../shared/json/json.ts';
import { ConfigError, InvalidValue } from './config-error.ts';
import type { ConfigFile } from './config-file.ts';
import { nameInFile, settingNames, settingTable, type SettingName } from './settings.ts';
import type { Setting } from './setting.ts';

type Table = typeof settingTable;
type ValueOf<Name extends SettingName> = ReturnType<Table[Name]['parse']>;
/** Settings with a fallback always have a value. */
type Read<Name extends SettingName> = Table[Name] extends { fallback: string } ? ValueOf<Name> : ValueOf<Name> | undefined;

/** The settings that have a field in `Config`, under the name of the field. */
export type SettingFields = {
  readonly [Name in SettingName as Table[Name] extends { field: infer Field extends string } ? Field : never]: Read<Name>;
};

export type SettingOrigin = 'environment' | 'file';

export interface SettingsReader {
  /** The environment's value, else the file's, else the fallback. @throws ConfigError */
  read<Name extends SettingName>(name: Name): Read<Name>;
  /** The value in one of the two; undefined when it is not set there. @throws ConfigError */
  readFrom<Name extends SettingName>(origin: SettingOrigin, name: Name): ValueOf<Name> | undefined;
  /** @throws ConfigError */
  readFields(): SettingFields;
}

/** Templates keep leading and trailing whitespace. Other values are trimmed, because they may come from a file with a final line break. */
const untrimmed = new Set<SettingName>(['TOOLS_FUNCTION_CALLING_PROMPT_TEMPLATE', 'RAG_TEMPLATE']);

/** Characters of an invalid value that an error shows. */
const maxQuotedCharacters = 60;
/** Characters of a value in a list of settings; templates are pages long. */
const maxShownCharacters = 120;

export function createSettingsReader(environment: NodeJS.ProcessEnv, file: ConfigFile | undefined): SettingsReader {
  function rawValue(origin: SettingOrigin, name: SettingName): JsonValue | undefined {
    const raw = origin === 'environment' ? environment[name] : file && valueInFile(file, name);
    const value = typeof raw === 'string' && !untrimmed.has(name) ? raw.trim() : raw;
    return value === '' || value === null ? undefined : value;
  }

  function readFrom<Name extends SettingName>(origin: SettingOrigin, name: Name): ValueOf<Name> | undefined {
    const raw = rawValue(origin, name);
    if (raw === undefined) return undefined;
    return parse(name, raw, origin === 'environment' ? name : `${nameInFile(name)} in ${file?.path}`);
  }

  function read<Name extends SettingName>(name: Name): Read<Name> {
    const { fallback }: Setting<unknown> = settingTable[name];
    const found =
      readFrom('environment', name) ?? readFrom('file', name) ?? (fallback === undefined ? undefined : parse(name, fallback, name));
    return found as Read<Name>;
  }

  function readFields(): SettingFields {
    const fields = settingNames().flatMap((name) => {
      const { field }: Setting<unknown> = settingTable[name];
      return field === undefined ? [] : [[field, read(name)] as const];
    });
    return Object.fromEntries(fields) as SettingFields;
  }

  return { read, readFrom, readFields };
}

function valueInFile({ entries }: ConfigFile, name: SettingName): JsonValue | undefined {
  let value: JsonValue | undefined = entries;
  for (const key of nameInFile(name).split('.')) value = isJsonObject(value) ? ownValue(value, key) : undefined;
  return value;
}

function parse<Name extends SettingName>(name: Name, raw: JsonValue, shownName: string): ValueOf<Name> {
  const setting: Setting<unknown> = settingTable[name];
  try {
    return setting.parse(raw) as ValueOf<Name>;
  } catch (error) {
    if (!(error instanceof InvalidValue)) throw error;
    const shown = setting.isSecret === true ? 'its value' : quote(error.part ?? raw);
    throw new ConfigError(`${shownName}: ${shown} ${error.problem}; ${error.cure}.`);
  }
}

function quote(value: JsonValue): string {
  const written = typeof value === 'string' ? value : JSON.stringify(value);
  // Never print a password before the @ of a URL, or a key that was put into the wrong variable.
  if (/@|\bsk-/.test(written)) return 'its value';
  return `"${written.length > maxQuotedCharacters ? `${written.slice(0, maxQuotedCharacters)}…` : written}"`;
}

/** Every setting with its effective value. @throws ConfigError */
export function listSettings(environment: NodeJS.ProcessEnv, file: ConfigFile | undefined): (ShownSetting & { name: SettingName })[] {
  const reader = createSettingsReader(environment, file);
  return settingNames().map((name) => {
    const { fallback, shownDefault, parse, isSecret }: Setting<unknown> = settingTable[name];
    const origin = (['environment', 'file'] as const).find((candidate) => reader.readFrom(candidate, name) !== undefined);
    const value: unknown = origin && reader.readFrom(origin, name);
    const isDefault = origin === undefined || (fallback !== undefined && isDeepStrictEqual(value, parse(fallback)));
    if (isDefault) return { name, origin: 'default', value: fallback ?? shownDefault ?? null };
    return { name, origin, value: isSecret === true ? 'set' : show(value) };
  });
}

function show(value: unknown): string {
  const written = (Array.isArray(value) ? value.join('; ') : String(value)).replaceAll(/\s+/g, ' ');
  // Never print a key that was put into the wrong variable.
  if (/\bsk-/.test(written)) return 'set';
  return written.length > maxShownCharacters ? `${written.slice(0, maxShownCharacters)}… (${written.length} characters)` : written;
}
