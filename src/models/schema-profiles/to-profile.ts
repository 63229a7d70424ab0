import type { JsonObject } from '../../shared/json.ts';
import type { ToolSpec } from '../../core/tool.ts';
import { toGeminiParameters } from './gemini-profile.ts';
import { toLlamaCppParameters } from './llama-cpp-profile.ts';
import { toOllamaParameters } from './ollama-profile.ts';
import { toStrictParameters } from './openai-profile.ts';

/** What of JSON Schema a consumer understands. `plain`: all of it, as far as anybody knows. */
export type SchemaProfile = 'plain' | 'openai' | 'ollama' | 'gemini' | 'llama-cpp';

export interface ProfiledParameters {
  /** Undefined: the function is to be sent without parameters. */
  parameters: JsonObject | undefined;
  /** Whether the backend may be asked to enforce the schema. */
  isStrict: boolean;
}

/** The parameters of a function in a consumer's words. Pure; the schema is not changed, and a schema of any kind gives something that can be sent. */
export function toProfile(parameters: JsonObject, profile: SchemaProfile): ProfiledParameters {
  switch (profile) {
    case 'plain':
      return { parameters, isStrict: false };
    case 'openai': {
      const strict = toStrictParameters(parameters);
      return { parameters: strict ?? parameters, isStrict: strict !== undefined };
    }
    case 'ollama':
      return { parameters: toOllamaParameters(parameters), isStrict: false };
    case 'gemini':
      return { parameters: toGeminiParameters(parameters), isStrict: false };
    case 'llama-cpp':
      return { parameters: toLlamaCppParameters(parameters), isStrict: false };
  }
}

/** By the parameters and the profile: the functions of a server are the same objects in every request. */
const known = new WeakMap<JsonObject, Map<SchemaProfile, ProfiledParameters>>();

/** The function in a consumer's words. */
export function specInProfile(wished: ToolSpec, usual: SchemaProfile): ToolSpec {
  if (usual === 'plain' && wished.strict === undefined) return wished;
  const { strict: wish, ...spec } = wished;
  // Who is not known to enforce schemas is asked to for the functions that want it alone.
  const profile = usual === 'plain' && wish === true ? 'openai' : usual === 'openai' && wish === false ? 'plain' : usual;
  if (profile === 'plain') return spec;
  const profiles = known.get(spec.parameters) ?? new Map<SchemaProfile, ProfiledParameters>();
  known.set(spec.parameters, profiles);
  const { parameters, isStrict } = profiles.get(profile) ?? toProfile(spec.parameters, profile);
  profiles.set(profile, { parameters, isStrict });
  return { ...spec, parameters: parameters ?? { type: 'object', properties: {} }, ...(isStrict && { strict: true }) };
}

/** The profile of a server by its address, where the service behind it is known. */
export function profileOf(baseUrl: string): SchemaProfile {
  const host = URL.parse(baseUrl)?.hostname ?? '';
  if (host === 'api.openai.com') return 'openai';
  return /(?:^|\.)(?:generativelanguage|aiplatform)\.googleapis\.com$|-aiplatform\.googleapis\.com$/.test(host) ? 'gemini' : 'plain';
}
