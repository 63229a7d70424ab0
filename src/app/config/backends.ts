import { z } from 'zod';
import type { BackendConfig } from '../../core/models/backend-config.ts';
import { backendSchema, defaultMaxContext, nameBackend, type UnnamedBackend } from '../../storage/backend-schema.ts';
import { ConfigError } from './config-error.ts';
import { readSection, type ConfigFile } from './config-file.ts';
import type { SettingOrigin, SettingsReader } from './read-settings.ts';

export type { BackendConfig } from '../../core/models/backend-config.ts';

const openaiUrl = 'https://api.openai.com/v1';

/** Backends of one file; every model list requests all of them. */
const maxBackends = 64;

const backendsSchema = z.array(backendSchema('file')).max(maxBackends).default([]);

/** An entry that a variable made. */
function variableEntry(kind: 'ollama' | 'openai', url: string, origin: SettingOrigin = 'environment'): UnnamedBackend {
  return { kind, url, urls: [url], origin, headers: {}, maxContext: defaultMaxContext, isExplicit: true };
}

/**
 * Ollama servers, then OpenAI ones, from the variables; then the file's `backends`, in order.
 * The Ollama at the default address is included unless another one is configured, or the file says `ollama_base_urls: []`.
 */
export function readBackends(settings: SettingsReader, file: ConfigFile | undefined): BackendConfig[] {
  const cure = 'write a list such as [{type: openai, url: https://llm.example/v1, key: "${LLM_KEY}"}]';
  const listed = readSection(file, backendsSchema, { name: 'backends', cure });
  return named([...ollamaBackends(settings, listed), ...openaiBackends(settings), ...listed]);
}

function ollamaBackends(settings: SettingsReader, listed: readonly UnnamedBackend[]): UnnamedBackend[] {
  const { values: explicit, origin } = readEither(settings, ['OLLAMA_BASE_URLS', 'OLLAMA_BASE_URL']);
  if (explicit === undefined && listed.some((backend) => backend.kind === 'ollama')) return [];
  const urls = explicit ?? settings.read('OLLAMA_BASE_URLS');
  const isExplicit = explicit !== undefined;
  return urls.filter((url) => url !== '').map((url) => ({ ...variableEntry('ollama', url, origin), isExplicit }));
}

function openaiBackends(settings: SettingsReader): UnnamedBackend[] {
  const { values: urls = [], origin: urlOrigin } = readEither(settings, ['OPENAI_API_BASE_URLS', 'OPENAI_API_BASE_URL']);
  const { values: keys = [], origin: keyOrigin } = readEither(settings, ['OPENAI_API_KEYS', 'OPENAI_API_KEY']);
  // They are paired by position, so keys of the file would be sent to servers that the environment names.
  if (urlOrigin === 'environment' && keyOrigin === 'file')
    throw new ConfigError('OPENAI_API_BASE_URLS is set in the environment and openai_api_keys in the file; set both in the same one.');
  const count = urls.length === 0 && keys.length === 1 ? 1 : urls.length;
  if (keys.length < count && keys.some((key) => key.includes(',')))
    throw new ConfigError('OPENAI_API_KEYS: a key contains a comma, and there are fewer keys than URLs; separate keys with ";".');
  if (keys.length > count) {
    throw new ConfigError(
      `OPENAI_API_KEYS: ${keys.length} keys for ${count} URLs in OPENAI_API_BASE_URLS; set as many URLs as keys, in the same order.`,
    );
  }
  return Array.from({ length: count }, (_, index) => {
    const key = keys[index] ?? '';
    return { ...variableEntry('openai', urls[index] || openaiUrl, urlOrigin ?? keyOrigin), ...(key !== '' && { key }) };
  });
}

type ListSetting =
  | 'OLLAMA_BASE_URLS'
  | 'OLLAMA_BASE_URL'
  | 'OPENAI_API_BASE_URLS'
  | 'OPENAI_API_BASE_URL'
  | 'OPENAI_API_KEYS'
  | 'OPENAI_API_KEY';

/** The value of the first name that is set; the environment precedes the file. */
function readEither(settings: SettingsReader, names: readonly ListSetting[]): { values?: string[]; origin?: SettingOrigin } {
  for (const origin of ['environment', 'file'] as const) {
    for (const name of names) {
      const values = settings.readFrom(origin, name);
      if (values !== undefined) return { values, origin };
    }
  }
  return {};
}

function named(backends: readonly UnnamedBackend[]): BackendConfig[] {
  const taken = new Set<string>();
  for (const { name } of backends) {
    if (name === undefined) continue;
    if (taken.has(name)) throw new ConfigError(`backends: the id "${name}" is used twice; give each backend a different id.`);
    taken.add(name);
  }
  return backends.map((backend) => nameBackend(backend, taken));
}
