import type { MessageCreateParamsBase, OutputConfig, ThinkingConfigParam } from '@anthropic-ai/sdk/resources/messages';

import type { CallerWarning } from '../../core/chat/caller-warning.ts';
import { forOllamaOnly, withoutOllamaOnly } from '../../core/chat/for-ollama-only.ts';
import { GatewayError } from '../../core/errors.ts';
import type { ModelRequest } from '../../core/models/model.ts';
import { isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../shared/json/json.ts';
import type { ModelFacts } from './anthropic-models.ts';
import { thinkingBlocksOf } from './anthropic-messages.ts';
import { toOutputSchema } from './anthropic-schemas.ts';
import { isForced } from './anthropic-tools.ts';

/** `max_tokens` is mandatory. Where the list of models does not say how many a model can write, this is what all that are in use can. */
const defaultMaxTokens = 8_192;

/** Fields of Anthropic's own, which callers may send in any dialect. */
const ownFields = ['cache_control', 'container', 'context_management', 'inference_geo', 'mcp_servers', 'service_tier', 'speed'] as const;

/**
 * What has no place in Anthropic's API and would change the answer. Other parameters are left out without a word: `stream_options`, `store`,
 * `metadata`, `verbosity`, and whatever only other servers know. Unknown fields are refused.
 */
const missing = ['frequency_penalty', 'presence_penalty', 'repetition_penalty', 'min_p', 'seed', 'logit_bias', 'logprobs', 'top_logprobs'];

/** Tokens of thinking, by effort, for models that take a budget. */
const budgets: ReadonlyMap<string, number> = new Map([
  ['low', 4_096],
  ['medium', 16_384],
  ['high', 32_000],
  ['xhigh', 64_000],
  ['max', 64_000],
]);
const smallestBudget = 1_024;

type Fields = Omit<MessageCreateParamsBase, 'model' | 'messages' | 'system' | 'tools' | 'tool_choice' | 'stream'> & {
  temperature?: number;
  top_p?: number;
  top_k?: number;
};

interface AnthropicParameters {
  fields: Fields;
  warnings: CallerWarning[];
}

/** @throws GatewayError `invalid_request` for `n` above 1 */
export function toAnthropicParameters(request: ModelRequest, facts: ModelFacts | undefined): AnthropicParameters {
  const { parameters } = request;
  refuseSeveralAnswers(parameters);
  const warnings: CallerWarning[] = [];
  const maxTokens = maxTokensOf(parameters, facts, warnings);
  const thinking = thinkingOf(request, maxTokens, facts);
  const config = { ...outputConfigOf(parameters, facts, warnings), ...(thinking.effort !== undefined && { effort: thinking.effort }) };
  const foreign = withoutOllamaOnly(parameters);
  const own = ownFields.flatMap((name) => (isThere(foreign[name]) && !isOpenAiTier(name, foreign[name]) ? [[name, foreign[name]]] : []));
  const isThinking = thinking.config !== undefined && thinking.config.type !== 'disabled';
  const fields: Fields = {
    max_tokens: maxTokens,
    ...(Object.fromEntries(own) as Partial<Fields>),
    ...stopOf(parameters),
    ...userOf(parameters),
    ...samplingOf(parameters, isThinking, warnings),
    ...(thinking.config !== undefined && { thinking: thinking.config }),
    ...(Object.keys(config).length > 0 && { output_config: config }),
  };
  const leftOut = missing.filter((name) => isMeant(parameters[name]));
  if (leftOut.length > 0) warnings.push(leftOutWarning(`Anthropic's API has no ${leftOut.join(', ')}.`));
  return { fields, warnings };
}

function refuseSeveralAnswers({ n }: JsonObject): void {
  if (typeof n !== 'number' || n <= 1) return;
  throw new GatewayError('invalid_request', 'Anthropic\'s API gives one answer per request: leave out "n" or set it to 1.', { param: 'n' });
}

function leftOutWarning(reason: string): CallerWarning {
  return { code: 'parameter_left_out', message: `${reason} The model was asked without.` };
}

/** OpenAI has a parameter of this name too, with other values. */
function isOpenAiTier(name: string, value: JsonValue | undefined): boolean {
  return name === 'service_tier' && value !== 'auto' && value !== 'standard_only';
}

function isThere(value: JsonValue | undefined): boolean {
  return value !== undefined && value !== null;
}

/** Frontends send the neutral values of parameters that nobody has chosen. */
function isMeant(value: JsonValue | undefined): boolean {
  return isThere(value) && value !== 0 && value !== false && !(isJsonObject(value) && Object.keys(value).length === 0);
}

function maxTokensOf(parameters: JsonObject, facts: ModelFacts | undefined, warnings: CallerWarning[]): number {
  const most = facts?.maxTokens;
  const wanted = parameters['max_completion_tokens'] ?? parameters['max_tokens'];
  if (typeof wanted !== 'number') return most ?? defaultMaxTokens;
  if (most === undefined || wanted <= most) return wanted;
  warnings.push({ code: 'parameter_changed', message: `The model writes at most ${most} tokens; max_tokens was lowered from ${wanted}.` });
  return most;
}

/** Sequences without a visible character are refused. */
function stopOf({ stop }: JsonObject): Pick<Fields, 'stop_sequences'> {
  const sequences = [stop].flat().filter((sequence) => typeof sequence === 'string' && sequence.trim() !== '') as string[];
  return sequences.length === 0 ? {} : { stop_sequences: sequences };
}

function userOf({ user, metadata }: JsonObject): Pick<Fields, 'metadata'> {
  const id = typeof user === 'string' ? user : isJsonObject(metadata) ? ownValue(metadata, 'user_id') : undefined;
  return typeof id === 'string' && id !== '' ? { metadata: { user_id: id } } : {};
}

/** OpenAI's temperature goes up to 2. A model that thinks is refused with any of the three, and newer ones always (`refused-fields.ts`). */
function samplingOf({ temperature, top_p, top_k }: JsonObject, isThinking: boolean, warnings: CallerWarning[]): Partial<Fields> {
  const sampling = Object.fromEntries(
    Object.entries({ temperature, top_p, top_k }).filter((entry): entry is [string, number] => typeof entry[1] === 'number'),
  );
  if (isThinking) {
    // The value that it has anyway.
    if (sampling['temperature'] === 1) delete sampling['temperature'];
    const names = Object.keys(sampling);
    if (names.length > 0) warnings.push(leftOutWarning(`A model of Anthropic that thinks takes no ${names.join(', ')}.`));
    return {};
  }
  const wanted = sampling['temperature'];
  if (wanted === undefined || (wanted >= 0 && wanted <= 1)) return sampling;
  const nearest = wanted < 0 ? 0 : 1;
  const message = `Anthropic's temperature is between 0 and 1; ${nearest} was sent instead of ${wanted}.`;
  warnings.push({ code: 'parameter_changed', message });
  return { ...sampling, temperature: nearest };
}

interface Thinking {
  config?: ThinkingConfigParam;
  effort?: NonNullable<OutputConfig['effort']>;
}

/**
 * A caller's own `thinking` is sent as it is. `reasoning_effort` is an effort with adaptive thinking where the model has it, or nothing is known of the
 * model; else a budget. With a budget a model cannot be made to call a function, and the call is what was demanded; nor can it go on after calls whose
 * thinking is not there.
 */
function thinkingOf({ parameters, toolChoice, messages }: ModelRequest, maxTokens: number, facts: ModelFacts | undefined): Thinking {
  const own = ownValue(parameters, 'thinking');
  if (isJsonObject(own)) return { config: own as unknown as ThinkingConfigParam };
  const given = ownValue(parameters, 'reasoning_effort');
  const isOff = given === 'none' || (given === undefined && ownValue(parameters, 'think') === false);
  if (isOff) return facts?.thinking?.canBeOff === true ? { config: { type: 'disabled' } } : {};
  const effort = given === 'minimal' ? 'low' : given;
  if (typeof effort !== 'string' || !budgets.has(effort)) return {};
  const kinds = facts?.thinking ?? { isAdaptive: true, hasBudget: false };
  if (kinds.isAdaptive) {
    const known = facts?.efforts === undefined || facts.efforts.has(effort) ? effort : facts.efforts.has('high') ? 'high' : undefined;
    // Newer models do not show what they think unless they are asked to.
    return {
      config: { type: 'adaptive', display: 'summarized' },
      ...(known !== undefined && { effort: known as NonNullable<OutputConfig['effort']> }),
    };
  }
  const config = kinds.hasBudget && !isForced(toolChoice) && !lacksThinking(messages) ? budgetOf(effort, maxTokens) : undefined;
  return config === undefined ? {} : { config };
}

/** A client may send a call back without the thinking before it, or another model may have made it. */
function lacksThinking(messages: ModelRequest['messages']): boolean {
  const last = messages.findLast((message) => message.role === 'assistant');
  return last !== undefined && last.toolCalls.length > 0 && thinkingBlocksOf(last).length === 0;
}

/** Leaves half of the answer's tokens to the answer. Undefined where that is less than the smallest budget. */
export function budgetOf(effort: string, maxTokens: number): ThinkingConfigParam | undefined {
  const tokens = Math.min(budgets.get(effort) ?? 0, Math.floor(maxTokens / 2));
  return tokens < smallestBudget ? undefined : { type: 'enabled', budget_tokens: tokens };
}

/** `response_format` as an output format, beside a caller's own `output_config`. */
function outputConfigOf(parameters: JsonObject, facts: ModelFacts | undefined, warnings: CallerWarning[]): OutputConfig {
  const own = ownValue(parameters, 'output_config');
  const config = isJsonObject(own) ? (own as OutputConfig) : {};
  const wanted = ownValue(parameters, 'response_format');
  const type = isJsonObject(wanted) ? ownValue(wanted, 'type') : undefined;
  if (!isJsonObject(wanted) || (type !== 'json_schema' && type !== 'json_object')) return config;
  const named = ownValue(wanted, 'json_schema');
  const schema = isJsonObject(named) ? ownValue(named, 'schema') : undefined;
  const enforced = facts?.hasOutputFormat !== false && isJsonObject(schema) ? toOutputSchema(schema) : undefined;
  if (enforced !== undefined) return { ...config, format: { type: 'json_schema', schema: enforced } };
  const reason = isJsonObject(schema) ? 'this schema, or on this model none' : 'JSON without a schema';
  warnings.push(leftOutWarning(`Anthropic's API cannot enforce ${reason} (response_format).`));
  return config;
}

/** The mark of a Messages client, which it has put into blocks. */
export function markOfClient(parameters: JsonObject): JsonObject | undefined {
  const names = parameters[forOllamaOnly];
  return Array.isArray(names) && names.includes('cache_control') ? { cache_control: parameters['cache_control'] } : undefined;
}
