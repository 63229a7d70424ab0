import { ownValue } from '../../shared/json.ts';
import type { JsonValue } from '../../shared/json.ts';
import { ConfigError, InvalidValue } from './config-error.ts';
import type { ConfigFile } from './config-file.ts';
import { settingTable } from './settings.ts';
import type { Setting, SettingName } from './settings.ts';

type Table = typeof settingTable;
type ValueOf<Name extends SettingName> = ReturnType<Table[Name]['parse']>;
/** Settings with a fallback always have a value. */
type Read<Name extends SettingName> = Table[Name] extends { fallback: string } ? ValueOf<Name> : ValueOf<Name> | undefined;

export type SettingPlace = 'environment' | 'file';

export interface SettingsReader {
  /** The environment's value, else the file's, else the fallback. @throws ConfigError */
  read<Name extends SettingName>(name: Name): Read<Name>;
  /** The value at one place; undefined when it is not set there. @throws ConfigError */
  readAt<Name extends SettingName>(name: Name, place: SettingPlace): ValueOf<Name> | undefined;
}

/** Templates keep their spaces and line ends; everything else may come from a file with a final line break. */
const untrimmed = new Set<SettingName>(['TOOLS_FUNCTION_CALLING_PROMPT_TEMPLATE', 'RAG_TEMPLATE']);

/** The longest part of a wrong value that an error shows. */
const shownLength = 60;

export function createSettingsReader(environment: NodeJS.ProcessEnv, file: ConfigFile | undefined): SettingsReader {
  function rawAt(name: SettingName, place: SettingPlace): JsonValue | undefined {
    const raw = place === 'environment' ? environment[name] : file && ownValue(file.entries, name.toLowerCase());
    const value = typeof raw === 'string' && !untrimmed.has(name) ? raw.trim() : raw;
    return value === '' || value === null ? undefined : value;
  }

  function readAt<Name extends SettingName>(name: Name, place: SettingPlace): ValueOf<Name> | undefined {
    const raw = rawAt(name, place);
    if (raw === undefined) return undefined;
    const shownName = place === 'environment' ? name : `${name.toLowerCase()} in ${file?.path ?? 'the file'}`;
    return parse(name, raw, shownName);
  }

  function read<Name extends SettingName>(name: Name): Read<Name> {
    const { fallback }: Setting<unknown> = settingTable[name];
    const found = readAt(name, 'environment') ?? readAt(name, 'file') ?? (fallback === undefined ? undefined : parse(name, fallback, name));
    return found as Read<Name>;
  }

  return { read, readAt };
}

function parse<Name extends SettingName>(name: Name, raw: JsonValue, shownName: string): ValueOf<Name> {
  const setting: Setting<unknown> = settingTable[name];
  try {
    return setting.parse(raw) as ValueOf<Name>;
  } catch (error) {
    if (!(error instanceof InvalidValue)) throw error;
    const shown = setting.isSecret === true ? 'its value' : show(error.part ?? raw);
    throw new ConfigError(`${shownName}: ${shown} ${error.problem}; ${error.cure}.`);
  }
}

function show(value: JsonValue): string {
  const written = typeof value === 'string' ? value : JSON.stringify(value);
  // A password before the @ of an address must not be printed, nor a key that was put into the wrong variable.
  if (/@|\bsk-/.test(written)) return 'its value';
  return `"${written.length > shownLength ? `${written.slice(0, shownLength)}…` : written}"`;
}
