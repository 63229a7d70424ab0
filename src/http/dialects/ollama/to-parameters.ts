import { withDerived } from '../../../core/chat/derived-parameters.ts';
import { withOllamaOnly } from '../../../core/chat/for-ollama-only.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';
import { withoutUndefined } from '../../../shared/json/without-undefined.ts';
import type { CommonBody } from './ollama-body-schema.ts';

/** Ollama's options for which OpenAI's API has a parameter. An Ollama backend converts them back; it is the only one that gets the others. */
const parameterByOption: Readonly<Record<string, string>> = {
  temperature: 'temperature',
  top_p: 'top_p',
  seed: 'seed',
  stop: 'stop',
  frequency_penalty: 'frequency_penalty',
  presence_penalty: 'presence_penalty',
  num_predict: 'max_tokens',
};

/** The model parameters of a request, under OpenAI's names where it has some. */
export function toParameters(body: CommonBody): JsonObject {
  const { parameters, options } = sortOptions(body.options ?? {});
  const { think, keep_alive: keepAlive, logprobs, top_logprobs: topLogprobs } = body;
  const effort = effortOf(think);
  const hasOptions = Object.keys(options).length > 0;
  const { max_tokens: maxTokens, ...others } = parameters;
  const wanted = {
    ...others,
    ...formatOf(body.format),
    ...(logprobs === true && { logprobs, ...(typeof topLogprobs === 'number' && { top_logprobs: topLogprobs }) }),
  };
  return withOllamaOnly(
    withDerived(wanted, withoutUndefined({ max_tokens: maxTokens, reasoning_effort: effort })),
    withoutUndefined({
      think: think === '' ? undefined : (think ?? undefined),
      keep_alive: keepAlive ?? undefined,
      options: hasOptions ? options : undefined,
      // Named on its own as well: a selection of tools keeps it, so that the model is not loaded again.
      num_ctx: options['num_ctx'],
    }),
  );
}

function sortOptions(given: JsonObject): { parameters: JsonObject; options: JsonObject } {
  const parameters: JsonObject = {};
  const options: JsonObject = {};
  for (const [option, value] of Object.entries(given)) {
    if (value === null || value === undefined) continue;
    const parameter = Object.hasOwn(parameterByOption, option) ? parameterByOption[option] : undefined;
    // -1 and -2 mean "without end" and "until the context is full".
    const isOpenEnd = option === 'num_predict' && typeof value === 'number' && value <= 0;
    if (parameter === undefined || isOpenEnd) options[option] = value;
    else parameters[parameter] = value;
  }
  return { parameters, options };
}

/** Only Ollama is asked whether to reason at all: most models of other backends refuse the parameter. */
function effortOf(think: CommonBody['think']): string | undefined {
  if (think === 'max') return 'high';
  return typeof think === 'string' && think !== '' ? think : undefined;
}

function formatOf(format: JsonValue | undefined): JsonObject {
  if (format === 'json') return { response_format: { type: 'json_object' } };
  if (!isJsonObject(format)) return {};
  return { response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: format } } };
}
