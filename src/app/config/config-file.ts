import { parseDocument } from 'yaml';
import type { z } from 'zod';
import { describeSchemaIssue } from '../../shared/describe-schema-issue.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../shared/json/json.ts';
import { mcpServersName, toFileEntries } from '../../storage/mcp-servers-form.ts';
import { ConfigError } from './config-error.ts';
import { refuseKey } from './refused-settings.ts';
import { nameInFile, settingNames } from './settings.ts';
import { nearestWord } from '../../shared/text/nearest-word.ts';

/** Settings of the configuration file that have no environment variable. */
export const sections = ['backends', 'models', 'tool_servers', 'toolsets', 'hooks', 'tools_dir', 'auth'] as const;

/** Not allowed in the file: it cannot name itself, and its tool servers are in `tool_servers`. */
const variablesOnly = new Set(['TOOLWHARF_CONFIG', 'TOOL_SERVER_CONNECTIONS']);

const knownKeys: string[] = [
  ...sections,
  ...settingNames()
    .filter((name) => !variablesOnly.has(name))
    .map((name) => nameInFile(name).split('.', 1)[0] ?? name),
];

/** The configuration file with its variables expanded. */
export interface ConfigFile {
  path: string;
  entries: JsonObject;
}

interface ConfigFileSource {
  path: string;
  text: string;
  environment: NodeJS.ProcessEnv;
}

/**
 * Parses YAML (or JSON): settings, named like their variables in lower case, and the sections above.
 * `${NAME}` in a value becomes that variable's value after parsing, so that a value cannot change the file's structure; `$${` is a literal `${`.
 * @throws ConfigError naming the path of the value
 */
export function parseConfigFile({ path, text, environment }: ConfigFileSource): ConfigFile {
  const document = parseDocument(text);
  const [error] = document.errors;
  // Only the first line, because the others quote the file, which may contain keys.
  if (error !== undefined) throw new ConfigError(`${path} is not valid YAML: ${firstLine(error.message)}; correct it there.`);
  const content: unknown = document.toJS({ maxAliasCount: 100 });
  if (content === null || content === undefined) return { path, entries: {} };
  if (!isJsonObject(content)) throw new ConfigError(`${path} must contain settings by name, as in "port: 8080".`);
  refuseMcpServers(content, path);
  for (const key of Object.keys(content)) requireKnown(key, path);
  return { path, entries: expandObject(content, { path, environment, pointer: [] }) };
}

/**
 * Reads a section of the file, validated by its schema. Without a file it is the schema's default.
 * @throws ConfigError
 */
export function readSection<Value>(
  file: ConfigFile | undefined,
  schema: z.ZodType<Value>,
  { name, cure }: { name: (typeof sections)[number]; cure: string },
): Value {
  const parsed = schema.safeParse(file?.entries[name] ?? undefined);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new ConfigError(`${[name, ...(issue?.path ?? [])].join('.')} in ${file?.path}: ${describeSchemaIssue(issue)}; ${cure}.`);
}

function firstLine(message: string): string {
  return (message.split('\n')[0] ?? '').replace(/:$/, '');
}

/** @throws ConfigError for servers in the form of other programs, with the form that they have here */
function refuseMcpServers(content: JsonObject, path: string): void {
  const name = mcpServersName(content);
  const servers = name === undefined ? undefined : content[name];
  if (!isJsonObject(servers)) return;
  throw new ConfigError(`${path}: "${name}" is the form of other programs; write it as ${toFileEntries(servers)}.`);
}

/** Differing letters of a key; with more it is another word. */
const maxTypos = 1 / 2;

function requireKnown(key: string, path: string): void {
  if (knownKeys.includes(key)) return;
  refuseKey(key, path);
  const { word, changes } = nearestWord(key, knownKeys);
  const cure = changes <= key.length * maxTypos ? `did you mean "${word}"?` : 'docs/configuration.md lists them.';
  throw new ConfigError(`${path}: "${key}" is not a known setting; ${cure}`);
}

interface Expansion {
  path: string;
  environment: NodeJS.ProcessEnv;
  /** Keys and indices that lead to the value. */
  pointer: string[];
}

function expand(value: JsonValue | undefined, expansion: Expansion): JsonValue {
  if (typeof value === 'string') return expandText(value, expansion);
  if (Array.isArray(value)) return value.map((entry, index) => expand(entry, within(expansion, String(index))));
  return isJsonObject(value) ? expandObject(value, expansion) : (value ?? null);
}

function expandObject(object: JsonObject, expansion: Expansion): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, expand(value, within(expansion, key))]));
}

function within(expansion: Expansion, key: string): Expansion {
  return { ...expansion, pointer: [...expansion.pointer, key] };
}

function expandText(text: string, { path, environment, pointer }: Expansion): string {
  return text.replaceAll(/\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\$\{/g, (match, name: string | undefined) => {
    if (match === '$${') return '${';
    const where = `${path}: ${pointer.join('.')}`;
    if (name === undefined)
      throw new ConfigError(`${where} has a "\${" without a variable's name; write \${NAME}, or $\${ for the characters.`);
    const value = environment[name];
    if (value !== undefined && value !== '') return value;
    throw new ConfigError(`${where} uses \${${name}}, which is not set in the environment; set ${name}, or write $\${ for the characters.`);
  });
}
