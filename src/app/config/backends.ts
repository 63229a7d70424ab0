import { z } from 'zod';
import { ConfigError, InvalidValue } from './config-error.ts';
import { readSection, type ConfigFile } from './config-file.ts';
import type { SettingOrigin, SettingsReader } from './read-settings.ts';
import { httpUrl } from './setting-values.ts';
import { headerName } from '../../shared/text/header-name.ts';

/** Which API a backend is asked with: OpenAI's chat completions or Responses, Anthropic's Messages, or Ollama's own. */
export const backendKinds = ['openai', 'openai-responses', 'anthropic', 'ollama'] as const;
export type BackendKind = (typeof backendKinds)[number];

/** A server of models. */
export interface BackendConfig {
  kind: BackendKind;
  /** Without a trailing slash; for the kinds that are not Ollama it ends with `/v1`. The first of `urls`. */
  url: string;
  /** Addresses that serve the same models. Absent: `url` alone. */
  urls?: string[];
  key?: string;
  /** Prepended to the ids of its models, separated by `/`. Has no trailing slash. */
  prefix?: string;
  /** Unique; shown instead of the URL. */
  name: string;
  headers: Record<string, string>;
  /** The largest context, in tokens, that the gateway requests from an Ollama. */
  maxContext: number;
  /** Which part of JSON Schema it supports; absent: derived from its URL. */
  schemas?: 'plain' | 'openai' | 'ollama' | 'gemini' | 'llama-cpp';
  /** Model requests that one address answers at a time. Absent: any number. */
  maxConcurrent?: number;
  /** Model requests that may wait for the entry. Absent: the default. */
  queue?: number;
  /** Public ids of models that answer if one of its own cannot. */
  fallbacks?: string[];
  /** False for the Ollama that is tried at the default address. */
  isExplicit: boolean;
}

/** Ollama allocates memory for the whole requested context: about 4 GB with a model of 8 billion parameters. */
const defaultMaxContext = 32_768;

const openaiUrl = 'https://api.openai.com/v1';

/** Backends of one file; every model list requests all of them. */
const maxBackends = 64;

const url = z.string().transform((value, context) => {
  try {
    return httpUrl(value.trim());
  } catch (error) {
    context.addIssue({ code: 'custom', message: error instanceof InvalidValue ? error.message : 'is not a URL' });
    return z.NEVER;
  }
});
const line = z.string().regex(/^[^\r\n\0]+$/, 'must be one line of text');

const backendSchema = z
  .strictObject({
    type: z.enum(backendKinds),
    url,
    key: line.nullish(),
    prefix: line.nullish(),
    name: line.nullish(),
    headers: z.record(z.string().regex(headerName, 'is not a header name'), line).nullish(),
    max_context: z.int().min(512).max(16_777_216).nullish(),
    schemas: z.enum(['plain', 'openai', 'ollama', 'gemini', 'llama-cpp']).nullish(),
  })
  .transform(({ type: kind, url, key, prefix, name, headers, max_context: maxContext, schemas }): Unnamed => ({
    kind,
    url,
    name: name ?? undefined,
    headers: headers ?? {},
    maxContext: maxContext ?? defaultMaxContext,
    isExplicit: true,
    ...(key && { key }),
    ...(schemas && { schemas }),
    ...(prefix && { prefix: prefix.replace(/\/+$/, '') }),
  }));
const backendsSchema = z.array(backendSchema).max(maxBackends).default([]);

type Unnamed = Omit<BackendConfig, 'name'> & { name?: string | undefined };

const defaults = { headers: {}, maxContext: defaultMaxContext, isExplicit: true } as const;

/**
 * Ollama servers, then OpenAI ones, from the variables; then the file's `backends`, in order.
 * The Ollama at the default address is included unless another one is configured, or the file says `ollama_base_urls: []`.
 */
export function readBackends(settings: SettingsReader, file: ConfigFile | undefined): BackendConfig[] {
  const cure = 'write a list such as [{type: openai, url: https://llm.example/v1, key: "${LLM_KEY}"}]';
  const listed = readSection(file, backendsSchema, { name: 'backends', cure });
  return named([...ollamaBackends(settings, listed), ...openaiBackends(settings), ...listed]);
}

function ollamaBackends(settings: SettingsReader, listed: readonly Unnamed[]): Unnamed[] {
  const { values: explicit } = readEither(settings, ['OLLAMA_BASE_URLS', 'OLLAMA_BASE_URL']);
  if (explicit === undefined && listed.some((backend) => backend.kind === 'ollama')) return [];
  const urls = explicit ?? settings.read('OLLAMA_BASE_URLS');
  const isExplicit = explicit !== undefined;
  return urls.filter((url) => url !== '').map((url) => ({ ...defaults, kind: 'ollama', url, isExplicit }));
}

function openaiBackends(settings: SettingsReader): Unnamed[] {
  const { values: urls = [], origin: urlOrigin } = readEither(settings, ['OPENAI_API_BASE_URLS', 'OPENAI_API_BASE_URL']);
  const { values: keys = [], origin: keyOrigin } = readEither(settings, ['OPENAI_API_KEYS', 'OPENAI_API_KEY']);
  // They are paired by position, so keys of the file would be sent to servers that the environment names.
  if (urlOrigin === 'environment' && keyOrigin === 'file')
    throw new ConfigError('OPENAI_API_BASE_URLS is set in the environment and openai_api_keys in the file; set both in the same one.');
  const count = urls.length === 0 && keys.length === 1 ? 1 : urls.length;
  if (keys.length > count) {
    throw new ConfigError(
      `OPENAI_API_KEYS: ${keys.length} keys for ${count} URLs in OPENAI_API_BASE_URLS; set as many URLs as keys, in the same order.`,
    );
  }
  return Array.from({ length: count }, (_, index) => {
    const key = keys[index] ?? '';
    return { ...defaults, kind: 'openai', url: urls[index] || openaiUrl, ...(key !== '' && { key }) };
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

/** Names unnamed backends after their kind, with a number from the second one on. */
function named(backends: readonly Unnamed[]): BackendConfig[] {
  const taken = new Set<string>();
  for (const { name } of backends) {
    if (name === undefined) continue;
    if (taken.has(name)) throw new ConfigError(`backends: the name "${name}" is used twice; give each backend a different name.`);
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
