import { GatewayError, invalidField } from '../../core/errors.ts';
import { isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../shared/json/json.ts';
import type { RunEvent } from '../../core/chat/run-event.ts';
import { fitGrammar } from './fit-grammar.ts';

/**
 * OpenAI parameter → Ollama option (`options.<name>` of `POST /api/chat`). Where two parameters mean one option the later row wins.
 * Entries of a caller's own `options` object win over all of them.
 *
 * Not options but fields of the request: `response_format` → `format`, `reasoning_effort` → `think`, and `keep_alive`, `think`, `format`
 * under their own names. Dropped, because Ollama has no word for them and would ignore them: `logit_bias`,
 * `user`, `store`, `metadata`, `service_tier`, `stream_options`, `verbosity`, `prediction`, `modalities`, and every unknown name; dropped as
 * well: `logprobs` and `top_logprobs`, which Ollama knows only since 0.12.11. What newer servers have forgotten (`mirostat*`, `tfs_z`,
 * `penalize_newline`, `numa`, `low_vram`, `use_mlock`) they leave aside with a line in their log.
 * `n` above 1 is refused, since Ollama gives one answer.
 */
const optionByParameter: Readonly<Record<string, string>> = {
  temperature: 'temperature',
  top_p: 'top_p',
  top_k: 'top_k',
  min_p: 'min_p',
  typical_p: 'typical_p',
  tfs_z: 'tfs_z',
  seed: 'seed',
  stop: 'stop',
  max_tokens: 'num_predict',
  max_completion_tokens: 'num_predict',
  num_predict: 'num_predict',
  num_keep: 'num_keep',
  num_ctx: 'num_ctx',
  frequency_penalty: 'frequency_penalty',
  presence_penalty: 'presence_penalty',
  repeat_penalty: 'repeat_penalty',
  repetition_penalty: 'repeat_penalty',
  repeat_last_n: 'repeat_last_n',
  penalize_newline: 'penalize_newline',
  mirostat: 'mirostat',
  mirostat_eta: 'mirostat_eta',
  mirostat_tau: 'mirostat_tau',
  num_batch: 'num_batch',
  num_gpu: 'num_gpu',
  main_gpu: 'main_gpu',
  num_thread: 'num_thread',
  numa: 'numa',
  low_vram: 'low_vram',
  use_mmap: 'use_mmap',
  use_mlock: 'use_mlock',
};

/** How a model's reasoning is controlled: by `low`, `medium` and `high` (gpt-oss), by a switch only, or not at all. */
export type ThinkingControl = 'levels' | 'switch' | 'none';

/** The part of Ollama's request that is derived from a chat's parameters. */
interface OllamaParameters {
  options: JsonObject;
  fields: { format?: string | JsonObject; keep_alive?: string | number; think?: boolean | 'low' | 'medium' | 'high' };
}

/**
 * @param thinking how the model's reasoning is controlled, if known. A `reasoning_effort` for a model without reasoning is dropped, because Ollama
 * would refuse the request.
 * @throws GatewayError `invalid_request` for `n` above 1, and for a schema that is too large for Ollama
 */
export function toOllamaParameters(parameters: JsonObject, thinking: ThinkingControl | undefined): OllamaParameters {
  refuseSeveralAnswers(parameters);
  const options: JsonObject = {};
  for (const [parameter, option] of Object.entries(optionByParameter)) {
    const value = ownValue(parameters, parameter);
    if (value !== undefined && value !== null) options[option] = value;
  }
  const own = ownValue(parameters, 'options');
  if (isJsonObject(own)) {
    for (const [option, value] of Object.entries(own)) if (value !== null && value !== undefined) options[option] = value;
  }
  if (typeof options['stop'] === 'string') options['stop'] = [options['stop']];
  return { options, fields: { ...formatOf(parameters), ...keepAliveOf(parameters), ...thinkOf(parameters, thinking) } };
}

function refuseSeveralAnswers(parameters: JsonObject): void {
  const count = ownValue(parameters, 'n');
  if (typeof count !== 'number' || count <= 1) return;
  throw new GatewayError('invalid_request', 'Ollama gives one answer per request: leave out "n" or set it to 1.', { param: 'n' });
}

/** A warning that the schema was reduced, so that parts of it are not enforced. */
export function reducedSchemaWarning(parameters: JsonObject, { format }: { format?: unknown }): RunEvent | undefined {
  if (!isJsonObject(format) || format === ownValue(parameters, 'format') || format === schemaOf(parameters)) return undefined;
  const message = 'The schema is larger than Ollama can enforce: its innermost parts were sent as "any object" or "any list".';
  return { type: 'warning', data: { code: 'schema_too_large', message } };
}

function schemaOf(parameters: JsonObject): JsonValue | undefined {
  const wanted = ownValue(parameters, 'response_format');
  const named = isJsonObject(wanted) ? ownValue(wanted, 'json_schema') : undefined;
  return isJsonObject(named) ? ownValue(named, 'schema') : undefined;
}

/** Ollama's own `format` has precedence; `json_schema` without a schema means plain JSON. */
function formatOf(parameters: JsonObject): { format?: string | JsonObject } {
  const own = ownValue(parameters, 'format');
  if (typeof own === 'string') return own === '' ? {} : { format: own };
  if (isJsonObject(own)) return { format: requireFitting(own, 'format') };
  const wanted = ownValue(parameters, 'response_format');
  if (!isJsonObject(wanted)) return {};
  const type = ownValue(wanted, 'type');
  if (type === 'json_object') return { format: 'json' };
  if (type !== 'json_schema') return {};
  const schema = schemaOf(parameters);
  return { format: isJsonObject(schema) ? requireFitting(schema, 'response_format') : 'json' };
}

/** @throws GatewayError `invalid_request` for a schema that is too large even when reduced: it would crash the model's runner */
function requireFitting(schema: JsonObject, param: string): JsonObject {
  const format = fitGrammar(schema);
  if (format !== undefined) return format;
  const cure =
    'Send one with fewer properties and choices, or ask for any JSON ({"type": "json_object"}) and put the schema into a message';
  throw invalidField(param, `the schema is larger than Ollama can enforce. ${cure}.`);
}

function keepAliveOf(parameters: JsonObject): { keep_alive?: string | number } {
  const value = ownValue(parameters, 'keep_alive');
  return typeof value === 'string' || typeof value === 'number' ? { keep_alive: value } : {};
}

const thinkByEffort: ReadonlyMap<JsonValue | undefined, boolean | 'low' | 'medium' | 'high'> = new Map<
  JsonValue | undefined,
  boolean | 'low' | 'medium' | 'high'
>([
  ['none', false],
  ['minimal', 'low'],
  ['low', 'low'],
  ['medium', 'medium'],
  ['high', 'high'],
  ['xhigh', 'high'],
]);

/** Whether the request sets the amount of reasoning; then the gateway must know which levels the model supports. */
export function setsReasoning(parameters: JsonObject): boolean {
  return typeof (ownValue(parameters, 'think') ?? ownValue(parameters, 'reasoning_effort')) === 'string';
}

/** Ollama refuses levels for models that do not support them (`think value "low" is not supported for this model`). */
function thinkOf(parameters: JsonObject, thinking: ThinkingControl | undefined): OllamaParameters['fields'] {
  const own = ownValue(parameters, 'think');
  if (typeof own === 'boolean') return { think: own };
  const think = thinkByEffort.get(own ?? ownValue(parameters, 'reasoning_effort'));
  if (think === undefined || (own === undefined && thinking === 'none')) return {};
  return { think: think !== false && thinking !== 'levels' ? true : think };
}
