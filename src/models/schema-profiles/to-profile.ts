import type { JsonObject } from '../../shared/json/json.ts';
import type { ToolSpec } from '../../core/tools/tool.ts';
import { toGeminiParameters } from './gemini-profile.ts';
import { toLlamaCppParameters } from './llama-cpp-profile.ts';
import { toOllamaParameters } from './ollama-profile.ts';
import { toStrictParameters } from './openai-profile.ts';

/** What a backend understands of JSON Schema. `plain`: all of it, as far as is known. */
export type SchemaProfile = 'plain' | 'openai' | 'ollama' | 'gemini' | 'llama-cpp';

interface ProfiledParameters {
  /** Undefined: the function is to be sent without parameters. */
  parameters: JsonObject | undefined;
  /** Whether the backend can enforce the schema (`strict`). */
  isStrict: boolean;
}

const converters: Record<SchemaProfile, (parameters: JsonObject) => JsonObject | undefined> = {
  plain: (parameters) => parameters,
  openai: toStrictParameters,
  ollama: toOllamaParameters,
  gemini: toGeminiParameters,
  'llama-cpp': toLlamaCppParameters,
};

/** The parameters of a function for a profile. Pure; the schema is not changed, and a schema of any kind gives something that can be sent. */
export function toProfile(parameters: JsonObject, profile: SchemaProfile): ProfiledParameters {
  const converted = converters[profile](parameters);
  if (profile !== 'openai') return { parameters: converted, isStrict: false };
  return { parameters: converted ?? parameters, isStrict: converted !== undefined };
}

/** By the parameters and the profile: the functions of a server are the same objects in every request. */
const cache = new WeakMap<JsonObject, Map<SchemaProfile, ProfiledParameters>>();

/** Functions that a refusal has changed already; they are converted no further. */
const kept = new WeakSet<ToolSpec>();

export function keepAsIs(spec: ToolSpec): ToolSpec {
  kept.add(spec);
  return spec;
}

/** A function as it is sent to a backend with this profile. */
export function specInProfile(spec: ToolSpec, backendProfile: SchemaProfile): ToolSpec {
  if (kept.has(spec)) return spec;
  if (backendProfile === 'plain' && spec.strict === undefined) return spec;
  const { strict, ...rest } = spec;
  // Where it is not known whether the backend enforces schemas, only functions that ask for it are sent as strict.
  const profile =
    backendProfile === 'plain' && strict === true ? 'openai' : backendProfile === 'openai' && strict === false ? 'plain' : backendProfile;
  if (profile === 'plain') return rest;
  const profiles = cache.get(rest.parameters) ?? new Map<SchemaProfile, ProfiledParameters>();
  cache.set(rest.parameters, profiles);
  const profiled = profiles.get(profile) ?? toProfile(rest.parameters, profile);
  profiles.set(profile, profiled);
  return { ...rest, parameters: profiled.parameters ?? { type: 'object', properties: {} }, ...(profiled.isStrict && { strict: true }) };
}

/** The profile of a server by its address, where the service behind it is known. */
export function profileOf(baseUrl: string): SchemaProfile {
  const host = URL.parse(baseUrl)?.hostname ?? '';
  // Also `eu.api.openai.com` and other regions.
  if (/(?:^|\.)api\.openai\.com$/.test(host)) return 'openai';
  return /(?:^|\.)(?:generativelanguage|aiplatform)\.googleapis\.com$|-aiplatform\.googleapis\.com$/.test(host) ? 'gemini' : 'plain';
}
