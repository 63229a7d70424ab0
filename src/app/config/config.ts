import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseEnv } from 'node:util';
import { readBackends, type BackendConfig } from './backends.ts';
import { ConfigError } from './config-error.ts';
import { parseConfigFile, type ConfigFile } from './config-file.ts';
import { readModuleSections, type ModuleSettings } from './module-sections.ts';
import { readOidc } from './read-oidc.ts';
import { readTracing } from './read-tracing.ts';
import { createSettingsReader, type SettingFields, type SettingsReader } from './read-settings.ts';
import { notFromEnvFile, refuseVariables } from './refused-settings.ts';
import { GatewayError } from '../../core/errors.ts';
import type { PresetRecord } from '../../core/stores/preset.ts';
import type { ToolServerRecord } from '../../core/stores/registry.ts';
import type { TracingSettings } from '../../observability/tracing/tracing-settings.ts';
import type { OidcSettings } from '../../policy/oidc-callers.ts';
import { deepFreeze } from '../../shared/json/deep-freeze.ts';
import { ownValue } from '../../shared/json/json.ts';
import { parsePreset } from '../../storage/preset-schema.ts';
import { parseToolServerConnections } from '../../storage/tool-server-connection.ts';

export { ConfigError } from './config-error.ts';
export { settings } from './settings.ts';
export type { BackendConfig } from './backends.ts';

/**
 * The whole configuration: settings with a field in the table, and what is derived from the others and from the file's sections. Times are in
 * milliseconds. It contains secrets, so it is never logged or returned as a whole.
 */
export interface Config extends SettingFields {
  /** In the order in which they are searched for a model id. */
  readonly backends: readonly BackendConfig[];
  readonly toolServers: readonly ToolServerRecord[];
  /** `models` of the file. */
  readonly presets: readonly PresetRecord[];
  readonly databaseUrl: string;
  readonly egress: { readonly mode: 'public' | 'any' | 'none'; readonly allow: readonly string[] };
  /** Origins as browsers send them, or `*`. Empty: the same origin only. */
  readonly corsOrigins: readonly string[];
  /** Undefined: callers have keys. */
  readonly oidc: OidcSettings | undefined;
  /** Undefined: nothing is traced. */
  readonly tracing: TracingSettings | undefined;
  readonly logFormat: 'json' | 'pretty';
  /** The operator's own code: functions and hooks. */
  readonly modules: ModuleSettings;
}

/** Reads a file as text; undefined when it does not exist. */
export type ReadFile = (path: string) => string | undefined;

export const readTextFile: ReadFile = (path) => (existsSync(path) ? readFileSync(path, 'utf8') : undefined);

const defaultPath = './toolwharf.yaml';

/**
 * Reads the environment, then the configuration file, then defaults. An empty value counts as not set.
 * @throws ConfigError for the first invalid value.
 */
export function readConfig(environment: NodeJS.ProcessEnv, readFile: ReadFile, isTerminal = false): Config {
  refuseVariables(environment);
  const file = readConfigFile(environment, readFile);
  const settings = createSettingsReader(environment, file);
  const fields = settings.readFields();
  if (fields.mcpOauthIssuer !== undefined && fields.publicUrl === undefined)
    throw new ConfigError(
      'PUBLIC_URL is not set, but MCP_OAUTH_ISSUER is; set it to the address at which people reach the gateway, because tokens for /mcp name it.',
    );
  const config: Config = {
    ...fields,
    backends: readBackends(settings, file),
    toolServers: readToolServers(settings, file),
    presets: readPresets(file),
    databaseUrl: settings.read('DATABASE_URL') ?? `sqlite:${fields.dataDir.replace(/\/+$/, '')}/toolwharf.db`,
    egress: { mode: settings.read('TOOL_SERVER_EGRESS'), allow: settings.read('TOOL_SERVER_ALLOW') ?? [] },
    corsOrigins: settings.read('CORS_ALLOW_ORIGIN') ?? [],
    oidc: readOidc(settings, file),
    tracing: readTracing(settings),
    logFormat: settings.read('LOG_FORMAT') ?? (isTerminal ? 'pretty' : 'json'),
    modules: readModuleSections(file),
  };
  return deepFreeze(config);
}

/**
 * Adds the variables of the `.env` beside the configuration file to the environment, without overriding variables. Without a configuration file
 * an `.env` may belong to another program, so it is not read. Returns the path of the `.env` that was read.
 * @throws ConfigError for a file that cannot be read
 */
export function addEnvFile(environment: NodeJS.ProcessEnv, readFile: ReadFile): string | undefined {
  const { path } = configPath(environment);
  if (readText(path, readFile) === undefined) return undefined;
  const envPath = join(dirname(path), '.env');
  const text = readText(envPath, readFile);
  if (text === undefined) return undefined;
  for (const [name, value] of Object.entries(parseEnv(text))) if (!notFromEnvFile.has(name)) environment[name] ??= value;
  return envPath;
}

/** The file that `TOOLWHARF_CONFIG` names, or the one at the default path; undefined if that does not exist. @throws ConfigError */
export function readConfigFile(environment: NodeJS.ProcessEnv, readFile: ReadFile): ConfigFile | undefined {
  const { path, isNamed } = configPath(environment);
  const text = readText(path, readFile);
  if (text !== undefined) return parseConfigFile({ path, text, environment });
  if (isNamed) throw new ConfigError(`TOOLWHARF_CONFIG: the file "${path}" does not exist; create it, or correct the path.`);
  return undefined;
}

function configPath(environment: NodeJS.ProcessEnv): { path: string; isNamed: boolean } {
  const named = environment['TOOLWHARF_CONFIG']?.trim() ?? '';
  return { path: named === '' ? defaultPath : named, isNamed: named !== '' };
}

function readText(path: string, readFile: ReadFile): string | undefined {
  try {
    return readFile(path);
  } catch (error) {
    throw new ConfigError(`${path} cannot be read (${error instanceof Error ? error.message : String(error)}); check its permissions.`);
  }
}

/** Tool servers of the environment, then those of the file. No id may be in both. */
function readToolServers(settings: SettingsReader, file: ConfigFile | undefined): ToolServerRecord[] {
  const fromEnvironment = parseNamed('TOOL_SERVER_CONNECTIONS', () =>
    parseToolServerConnections(settings.readFrom('environment', 'TOOL_SERVER_CONNECTIONS') ?? [], 'environment'),
  );
  if (file === undefined) return fromEnvironment;
  const taken = new Set(fromEnvironment.map((record) => record.id));
  const fromFile = parseNamed(`tool_servers in ${file.path}`, () =>
    parseToolServerConnections(ownValue(file.entries, 'tool_servers') ?? [], 'file', { taken }),
  );
  return [...fromEnvironment, ...fromFile];
}

function readPresets(file: ConfigFile | undefined): PresetRecord[] {
  if (file === undefined) return [];
  const name = `models in ${file.path}`;
  const entries = ownValue(file.entries, 'models') ?? [];
  if (!Array.isArray(entries)) throw new ConfigError(`${name}: must be a list of presets.`);
  const presets = entries.map((entry, index) =>
    parseNamed(`${name}, entry ${index + 1}`, () => parsePreset(entry, { origin: 'file', createdAt: 0 })),
  );
  const twice = presets.find(({ id }, index) => presets.findIndex((other) => other.id === id) < index);
  if (twice !== undefined) throw new ConfigError(`${name}: the id "${twice.id}" is used twice; give one of them another id.`);
  return presets;
}

function parseNamed<Value>(name: string, parse: () => Value): Value {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    throw new ConfigError(`${name}: ${error.message}`);
  }
}
