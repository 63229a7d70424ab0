import type { ModelEvent } from '../core/chat/chat.ts';
import type { Emit } from '../shared/async/emit.ts';
import { isJsonObject, ownValue, type JsonObject } from '../shared/json/json.ts';
import type { ModelBackend, ModelRequest, OutputDegree, OutputForm } from '../core/models/model.ts';
import { fitGrammar } from './ollama/fit-grammar.ts';

/** How a kind of backend is asked for structured output. */
export interface FormDialect {
  /** The request parameters for a form. */
  form: (form: OutputForm, degree: OutputDegree) => JsonObject;
  /** The parameters that disable reasoning; undefined if the request has disabled it already. */
  withoutReasoning: (parameters: JsonObject) => JsonObject | undefined;
}

/** OpenAI's `response_format`. */
export function toResponseFormat({ schema, strictSchema }: OutputForm, degree: OutputDegree): JsonObject {
  if (degree === 'none') return {};
  if (degree === 'json') return { response_format: { type: 'json_object' } };
  const isStrict = strictSchema !== undefined;
  return { response_format: { type: 'json_schema', json_schema: { name: 'answer', strict: isStrict, schema: strictSchema ?? schema } } };
}

/** Ollama's `format`, reduced to what its grammar can hold. */
export function toOllamaFormat({ schema }: OutputForm, degree: OutputDegree): JsonObject {
  if (degree === 'none') return {};
  return { format: (degree === 'schema' ? fitGrammar(schema) : undefined) ?? 'json' };
}

export const openAiForms: FormDialect = { form: toResponseFormat, withoutReasoning: withoutTemplateReasoning };
/** The Responses API, whose backend writes `response_format` as `text.format`. */
export const responsesForms: FormDialect = {
  form: toResponseFormat,
  withoutReasoning: (parameters) => (ownValue(parameters, 'reasoning_effort') === 'none' ? undefined : { reasoning_effort: 'none' }),
};
export const ollamaForms: FormDialect = {
  form: toOllamaFormat,
  withoutReasoning: (parameters) => (ownValue(parameters, 'think') === false ? undefined : { think: false }),
};

/**
 * Disables reasoning as vLLM, SGLang and llama.cpp pass it to the chat template. If a server refuses the parameter, the request is repeated without
 * it.
 */
function withoutTemplateReasoning(parameters: JsonObject): JsonObject | undefined {
  const own = ownValue(parameters, 'chat_template_kwargs');
  const given = isJsonObject(own) ? own : {};
  return ownValue(given, 'enable_thinking') === false ? undefined : { chat_template_kwargs: { ...given, enable_thinking: false } };
}

/**
 * A backend that is asked for the form of `request.output`, as far as the form says. What is done where it refuses the form, or the model says nothing
 * under it, is a remedy.
 */
export function constrainOutput(backend: ModelBackend, dialect: FormDialect): ModelBackend {
  return {
    answer({ output: form, ...request }, emit) {
      if (form === undefined) return backend.answer(request, emit);
      const { degree = 'schema', reasoning } = form;
      const off = dialect.withoutReasoning(request.parameters);
      const parameters = { ...request.parameters, ...(reasoning === 'disabled' && off), ...dialect.form(form, degree) };
      const rejectsEmpty = degree !== 'none';
      const rejectsReasoningOnly = rejectsEmpty || (off !== undefined && reasoning === undefined);
      return requireText(backend, { ...request, parameters }, { emit, rejectsEmpty, rejectsReasoningOnly });
    },
  };
}

/** The model returned no text. */
export class EmptyAnswer extends Error {
  readonly hasReasoning: boolean;
  /** The reasoning ended at a token limit. */
  readonly isCut: boolean;

  constructor(hasReasoning: boolean, isCut: boolean) {
    super('The model said nothing');
    this.hasReasoning = hasReasoning;
    this.isCut = isCut;
  }
}

/**
 * Some models return nothing if reasoning and a form are combined. @throws EmptyAnswer for an empty answer after reasoning, or for any empty answer if
 * the caller of this function refuses it
 */
async function requireText(
  backend: ModelBackend,
  request: ModelRequest,
  { emit, rejectsEmpty, rejectsReasoningOnly }: { emit: Emit<ModelEvent>; rejectsEmpty: boolean; rejectsReasoningOnly: boolean },
): Promise<void> {
  let hasSpoken = false;
  let hasReasoning = false;
  const endings: (ModelEvent & { type: 'finish' })[] = [];
  await backend.answer(request, (events) => {
    for (const event of events) {
      hasSpoken ||= isSpoken(event);
      hasReasoning ||= event.type === 'reasoning' && event.text.trim() !== '';
      if (event.type === 'finish') endings.push(event);
    }
    return emit(events.filter(({ type }) => type !== 'finish'));
  });
  const isRefusedThought = hasReasoning && rejectsReasoningOnly;
  if (!hasSpoken && (isRefusedThought || rejectsEmpty))
    throw new EmptyAnswer(
      isRefusedThought,
      endings.some(({ reason }) => reason === 'length'),
    );
  await emit(endings);
}

/** Text, or what stands for one. */
export function isSpoken(event: ModelEvent): boolean {
  return (
    (event.type === 'text' && event.text.trim() !== '') || event.type === 'tool-call' || (event.type === 'extra' && event.level === 'delta')
  );
}
