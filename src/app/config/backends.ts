import { z } from 'zod';
import { describeSchemaIssue } from '../../shared/describe-schema-issue.ts';
import type { JsonValue } from '../../shared/json.ts';
import { ConfigError, InvalidValue } from './config-error.ts';
import type { ConfigFile } from './config-file.ts';
import type { SettingPlace, SettingsReader } from './read-settings.ts';
import { httpUrl } from './setting-values.ts';

/** A server of models. */
export interface BackendConfig {
  kind: 'ollama' | 'openai';
  /** Without a trailing slash; for `openai` up to and with `/v1`. */
  url: string;
  key?: string;
  /** Put before the ids of its models with a `/` between; without one at its end. */
  prefix?: string;
  /** Unique; shown instead of the address. */
  name: string;
  headers: Record<string, string>;
  /** Tokens of context that the gateway asks an Ollama for at most. */
  maxContext: number;
  /** What of JSON Schema it understands; absent: what its address says. */
  schemas?: 'plain' | 'openai' | 'ollama' | 'gemini' | 'llama-cpp';
  /** False for the Ollama that is tried at the default address. */
  isExplicit: boolean;
}

/** Ollama reserves memory for the whole context that is asked for: about 4 GB with a model of 8 billion parameters. */
const defaultMaxContext = 32_768;

const openaiUrl = 'https://api.openai.com/v1';

/** Backends of one file; every model list asks all of them. */
const maxBackends = 64;

const url = z.string().transform((value, context) => {
  try {
    return httpUrl(value.trim());
  } catch (error) {
    context.addIssue({ code: 'custom', message: error instanceof InvalidValue ? error.message : 'is not an address' });
    return z.NEVER;
  }
});
const line = z.string().regex(/^[^\r\n\0]+$/, 'must be one line of text');

const backendSchema = z.strictObject({
  type: z.enum(['openai', 'ollama']),
  url,
  key: line.nullish(),
  prefix: line.nullish(),
  name: line.nullish(),
  headers: z.record(z.string().regex(/^[!#$%&'*+.^_`|~\w-]+$/, 'is not a header name'), line).nullish(),
  max_context: z.int().min(512).max(16_777_216).nullish(),
  schemas: z.enum(['plain', 'openai', 'ollama', 'gemini', 'llama-cpp']).nullish(),
});
const backendsSchema = z.array(backendSchema).max(maxBackends).nullish();

type Unnamed = Omit<BackendConfig, 'name'> & { name?: string | undefined };

/**
 * Ollama servers, then OpenAI ones, from the variables; then the file's `backends` in its own order.
 * The Ollama at the default address is there until another one is configured, or the file says `ollama_base_urls: []`.
 */
export function readBackends(settings: SettingsReader, file: ConfigFile | undefined): BackendConfig[] {
  const listed = listedBackends(file);
  const ollama = ollamaBackends(settings, listed);
  return named([...ollama, ...openaiBackends(settings), ...listed]);
}

function ollamaBackends(settings: SettingsReader, listed: readonly Unnamed[]): Unnamed[] {
  const explicit =
    settings.readAt('OLLAMA_BASE_URLS', 'environment') ??
    settings.readAt('OLLAMA_BASE_URL', 'environment') ??
    settings.readAt('OLLAMA_BASE_URLS', 'file') ??
    settings.readAt('OLLAMA_BASE_URL', 'file');
  if (explicit === undefined && listed.some((backend) => backend.kind === 'ollama')) return [];
  const urls = explicit ?? settings.read('OLLAMA_BASE_URLS');
  const isExplicit = explicit !== undefined;
  return urls.filter((entry) => entry !== '').map((entry) => ({ ...blank, kind: 'ollama', url: entry, isExplicit }));
}

const blank = { headers: {}, maxContext: defaultMaxContext, isExplicit: true } as const;

function openaiBackends(settings: SettingsReader): Unnamed[] {
  const urls = pairedList(settings, 'URL');
  const keys = pairedList(settings, 'KEY');
  // By position, the file's keys would go to whichever servers the environment names.
  if (urls.place === 'environment' && keys.place === 'file') {
    throw new ConfigError('OPENAI_API_BASE_URLS is set in the environment and openai_api_keys in the file; set both in one place.');
  }
  const count = urls.values.length === 0 && keys.values.length === 1 ? 1 : urls.values.length;
  if (keys.values.length > count) {
    throw new ConfigError(
      `OPENAI_API_KEYS: ${keys.values.length} keys for ${count} addresses in OPENAI_API_BASE_URLS; set as many addresses as keys, in the same order.`,
    );
  }
  return Array.from({ length: count }, (_, index) => {
    const key = keys.values[index] ?? '';
    const entry = urls.values[index] ?? '';
    return { ...blank, kind: 'openai', url: entry === '' ? openaiUrl : entry, ...(key !== '' && { key }) };
  });
}

function pairedList(settings: SettingsReader, kind: 'URL' | 'KEY'): { values: string[]; place: SettingPlace | undefined } {
  const [plural, singular] =
    kind === 'URL' ? (['OPENAI_API_BASE_URLS', 'OPENAI_API_BASE_URL'] as const) : (['OPENAI_API_KEYS', 'OPENAI_API_KEY'] as const);
  for (const place of ['environment', 'file'] as const) {
    const values = settings.readAt(plural, place) ?? settings.readAt(singular, place);
    if (values !== undefined) return { values, place };
  }
  return { values: [], place: undefined };
}

function listedBackends(file: ConfigFile | undefined): Unnamed[] {
  if (file === undefined) return [];
  const entries: JsonValue | undefined = file.entries['backends'];
  const parsed = backendsSchema.safeParse(entries);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new ConfigError(`${['backends', ...(issue?.path ?? [])].join('.')} in ${file.path}: ${describeSchemaIssue(issue)}.`);
  }
  return (parsed.data ?? []).map((entry) => ({
    kind: entry.type,
    url: entry.url,
    name: entry.name ?? undefined,
    headers: entry.headers ?? {},
    maxContext: entry.max_context ?? defaultMaxContext,
    isExplicit: true,
    ...(entry.key && { key: entry.key }),
    ...(entry.schemas && { schemas: entry.schemas }),
    ...(entry.prefix && { prefix: entry.prefix.replace(/\/+$/, '') }),
  }));
}

/** Names that were given stay; the others are the kind with a number from the second on. */
function named(backends: readonly Unnamed[]): BackendConfig[] {
  const taken = new Set<string>();
  for (const { name } of backends) {
    if (name === undefined) continue;
    if (taken.has(name)) throw new ConfigError(`backends: the name "${name}" is used twice; give each backend its own.`);
    taken.add(name);
  }
  return backends.map((backend) => ({ ...backend, name: backend.name ?? freeName(backend.kind, taken) }));
}

function freeName(kind: string, taken: Set<string>): string {
  let name = kind;
  for (let number = 2; taken.has(name); number += 1) name = `${kind}-${number}`;
  taken.add(name);
  return name;
}
