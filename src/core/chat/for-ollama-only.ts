import type { JsonObject } from '../../shared/json/json.ts';

/**
 * The key in a request's `parameters` that lists the names of those which no server with OpenAI's API gets, because it would refuse them. They come from a
 * client that takes the gateway for an Ollama and sends such things as `keep_alive` with every chat, or from one of Anthropic's.
 */
export const forOllamaOnly = 'for_ollama_only';

/** The parameters for a backend with OpenAI's API. */
export function withoutOllamaOnly(parameters: JsonObject): JsonObject {
  const names = parameters[forOllamaOnly];
  if (names === undefined) return parameters;
  const dropped = new Set<unknown>(Array.isArray(names) ? names : []);
  return Object.fromEntries(Object.entries(parameters).filter(([name]) => name !== forOllamaOnly && !dropped.has(name)));
}

/** Parameters, of which only an Ollama backend gets those in `only`. */
export function withOllamaOnly(parameters: JsonObject, only: JsonObject): JsonObject {
  const names = Object.keys(only);
  return names.length === 0 ? parameters : { ...parameters, ...only, [forOllamaOnly]: names };
}
