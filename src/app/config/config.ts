import { dirname, join } from 'node:path';
import { parseEnv } from 'node:util';
import { readBackends } from './backends.ts';
import type { BackendConfig } from './backends.ts';
import { ConfigError } from './config-error.ts';
import { parseConfigFile, withoutRedis } from './config-file.ts';
import type { ConfigFile } from './config-file.ts';
import { readModuleSections } from './module-sections.ts';
import type { ModuleSettings } from './module-sections.ts';
import { createSettingsReader } from './read-settings.ts';
import type { SettingsReader } from './read-settings.ts';
import { GatewayError } from '../../core/errors.ts';
import { ownValue } from '../../shared/json.ts';
import type { PresetRecord } from '../../core/preset.ts';
import type { ToolServerRecord } from '../../core/registry.ts';
import { deepFreeze } from '../../shared/deep-freeze.ts';
import { parsePreset } from '../../storage/preset-schema.ts';
import { parseToolServerConnections } from '../../storage/tool-server-connection.ts';

export { ConfigError } from './config-error.ts';
export { settings } from './settings.ts';
export type { BackendConfig } from './backends.ts';

/** Everything an operator decides. Times in milliseconds. Holds secrets: it is never logged or returned as a whole. */
export interface Config {
  readonly host: string;
  readonly port: number;
  /** Without a slash at its end; undefined: the address that is listened on. */
  readonly publicUrl: string | undefined;
  /** In the order in which a model id is looked up. */
  readonly backends: readonly BackendConfig[];
  readonly toolServers: readonly ToolServerRecord[];
  /** `models` of the file. */
  readonly presets: readonly PresetRecord[];
  readonly taskModel: string | undefined;
  readonly taskModelExternal: string | undefined;
  /** Undefined: the built-in template. */
  readonly selectionTemplate: string | undefined;
  readonly ragTemplate: string | undefined;
  readonly functionCalling: string;
  readonly maxToolRounds: number;
  readonly toolTimeoutMs: number;
  readonly toolTotalTimeoutMs: number;
  readonly browserToolTimeoutMs: number;
  readonly approvalTimeoutMs: number;
  readonly dataDir: string;
  readonly databaseUrl: string;
  /** Whether `store: true` of a chat is obeyed. */
  readonly storeChats: boolean;
  readonly adminKey: string | undefined;
  readonly secret: string | undefined;
  /** Undefined: the demo model is listed until a backend is configured. */
  readonly demo: boolean | undefined;
  readonly egress: { readonly mode: 'public' | 'any' | 'none'; readonly allow: readonly string[] };
  /** Origins as browsers send them, or `*`. Empty: the same origin only. */
  readonly corsOrigins: readonly string[];
  readonly firstByteTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly clientStallTimeoutMs: number;
  readonly drainTimeoutMs: number;
  readonly wsPingIntervalMs: number;
  readonly bodyLimitBytes: number;
  readonly logLevel: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';
  readonly logFormat: 'json' | 'pretty';
  /** The operator's own code: functions and hooks. */
  readonly modules: ModuleSettings;
}

/** Reads a file as text; undefined when it does not exist. */
export type ReadFile = (path: string) => string | undefined;

const defaultPath = './toolwharf.yaml';

/**
 * The environment, then the configuration file, then defaults. An empty value counts as not set.
 * @throws ConfigError for the first wrong value.
 */
export function readConfig(environment: NodeJS.ProcessEnv, readFile: ReadFile, isTerminal = false): Config {
  requireNoPlanned(environment);
  const file = readConfigFile(environment, readFile);
  const settings = createSettingsReader(environment, file);
  const dataDir = settings.read('TOOLWHARF_DATA_DIR');
  const config: Config = {
    host: settings.read('HOST'),
    port: settings.read('PORT'),
    publicUrl: settings.read('PUBLIC_URL'),
    backends: readBackends(settings, file),
    toolServers: readToolServers(settings, file),
    presets: readPresets(file),
    taskModel: settings.read('TASK_MODEL'),
    taskModelExternal: settings.read('TASK_MODEL_EXTERNAL'),
    selectionTemplate: settings.read('TOOLS_FUNCTION_CALLING_PROMPT_TEMPLATE'),
    ragTemplate: settings.read('RAG_TEMPLATE'),
    functionCalling: settings.read('FUNCTION_CALLING'),
    maxToolRounds: settings.read('CHAT_RESPONSE_MAX_TOOL_CALL_ITERATIONS'),
    toolTimeoutMs: settings.read('TOOL_TIMEOUT_MS'),
    toolTotalTimeoutMs: settings.read('TOOL_TOTAL_TIMEOUT_MS'),
    browserToolTimeoutMs: settings.read('BROWSER_TOOL_TIMEOUT_MS'),
    approvalTimeoutMs: settings.read('APPROVAL_TIMEOUT_MS'),
    dataDir,
    databaseUrl: settings.read('DATABASE_URL') ?? `sqlite:${dataDir.replace(/\/+$/, '')}/toolwharf.db`,
    storeChats: settings.read('STORE_CHATS'),
    adminKey: settings.read('TOOLWHARF_ADMIN_KEY'),
    secret: settings.read('TOOLWHARF_SECRET'),
    demo: settings.read('TOOLWHARF_DEMO'),
    egress: { mode: settings.read('TOOL_SERVER_EGRESS'), allow: settings.read('TOOL_SERVER_ALLOW') ?? [] },
    corsOrigins: settings.read('CORS_ALLOW_ORIGIN') ?? [],
    firstByteTimeoutMs: settings.read('UPSTREAM_FIRST_BYTE_TIMEOUT_MS'),
    idleTimeoutMs: settings.read('UPSTREAM_IDLE_TIMEOUT_MS'),
    clientStallTimeoutMs: settings.read('CLIENT_STALL_TIMEOUT_MS'),
    drainTimeoutMs: settings.read('DRAIN_TIMEOUT_MS'),
    wsPingIntervalMs: settings.read('WS_PING_INTERVAL_MS'),
    bodyLimitBytes: settings.read('BODY_LIMIT_BYTES'),
    logLevel: settings.read('LOG_LEVEL'),
    logFormat: settings.read('LOG_FORMAT') ?? (isTerminal ? 'pretty' : 'json'),
    modules: readModuleSections(file),
  };
  return deepFreeze(config);
}

/**
 * Names that other programs use for databases of their own, and the one that says where the files are. The environment itself may set them.
 */
const notFromEnvFile = new Set(['DATABASE_URL', 'REDIS_URL', 'TOOLWHARF_CONFIG']);

/**
 * Adds the variables of the `.env` beside the configuration file to the environment, where what is set already stays. Without a configuration file
 * the `.env` of a folder may be anybody's, and is left alone. Gives the path of the `.env` that was read.
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

/** The file that `TOOLWHARF_CONFIG` names, or the one at the usual place; undefined when there is none. @throws ConfigError */
export function readConfigFile(environment: NodeJS.ProcessEnv, readFile: ReadFile): ConfigFile | undefined {
  const { path, isNamed } = configPath(environment);
  const text = readText(path, readFile);
  if (text !== undefined) return parseConfigFile({ path, text, environment });
  if (isNamed) throw new ConfigError(`TOOLWHARF_CONFIG: there is no file "${path}"; create it or correct the path.`);
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

/** Those of the environment first. An id may stand in one of the two places only. */
function readToolServers(settings: SettingsReader, file: ConfigFile | undefined): ToolServerRecord[] {
  const fromEnvironment = parseNamed('TOOL_SERVER_CONNECTIONS', () =>
    parseToolServerConnections(settings.readAt('TOOL_SERVER_CONNECTIONS', 'environment') ?? [], 'environment'),
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
  if (twice !== undefined) throw new ConfigError(`${name}: "${twice.id}" stands there twice; give one of them another id.`);
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

/** Whoever sets it expects several replicas to work together, and they would not. */
function requireNoPlanned(environment: NodeJS.ProcessEnv): void {
  if ((environment['REDIS_URL'] ?? '').trim() !== '') throw new ConfigError(`REDIS_URL: ${withoutRedis}; unset it.`);
}
