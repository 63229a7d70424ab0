import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { ModelEvent } from '../core/chat/chat.ts';
import { GatewayError } from '../core/errors.ts';
import type { Emit } from '../shared/emit.ts';
import { isJsonObject, ownValue } from '../shared/json.ts';
import type { JsonObject } from '../shared/json.ts';
import { limits } from '../core/limits.ts';
import type { ModelBackend, ModelRequest, OutputForm } from '../core/models/model.ts';
import { withRemedies } from '../shared/with-remedies.ts';
import { fitGrammar } from './ollama/fit-grammar.ts';

/** How much of an output form is enforced: the schema, only that it is JSON, or nothing. */
type Degree = 'schema' | 'json' | 'none';
const degrees: readonly Degree[] = ['schema', 'json', 'none'];

/** How a kind of backend is asked for structured output. */
export interface FormDialect {
  /** The request parameters for a form. */
  form: (form: OutputForm, degree: Degree) => JsonObject;
  /** The parameters that disable reasoning; undefined if the request has disabled it already. */
  withoutReasoning: (parameters: JsonObject) => JsonObject | undefined;
}

/** OpenAI's `response_format`. */
export function toResponseFormat({ schema, strictSchema }: OutputForm, degree: Degree): JsonObject {
  if (degree === 'none') return {};
  if (degree === 'json') return { response_format: { type: 'json_object' } };
  const isStrict = strictSchema !== undefined;
  return { response_format: { type: 'json_schema', json_schema: { name: 'answer', strict: isStrict, schema: strictSchema ?? schema } } };
}

/** Ollama's `format`, reduced to what its grammar can hold. */
export function toOllamaFormat({ schema }: OutputForm, degree: Degree): JsonObject {
  if (degree === 'none') return {};
  return { format: (degree === 'schema' ? fitGrammar(schema) : undefined) ?? 'json' };
}

export const openAiForms: FormDialect = { form: toResponseFormat, withoutReasoning: withoutTemplateReasoning };
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

/** One variant of the request. */
interface Variant {
  degree: Degree;
  /** Reasoning is disabled. */
  isReasoningDisabled: boolean;
}

/**
 * Wraps a backend so that its answer follows `request.output` as far as the backend can enforce it. A backend that refuses the schema, or returns an
 * empty answer under it, is asked for JSON, then for no form at all; a model that only reasons first gets its reasoning disabled. Requests without a
 * form pass unchanged.
 * Refusals are remembered per model and schema, because the schema may be at fault, and one caller's schema must not affect the others. An empty
 * answer by itself teaches nothing about the form. That a model needs its reasoning disabled is remembered per model, unless its reasoning ended at a
 * token limit, which callers set.
 */
export function constrainOutput(backend: ModelBackend, dialect: FormDialect, now: () => number = Date.now): ModelBackend {
  const memory = { max: limits.outputForms, ttl: limits.outputFormMemoryMs, ttlResolution: 0, perf: { now } };
  const degreesBySchema = new LRUCache<string, Degree>(memory);
  const reasoningDisabledModels = new LRUCache<string, boolean>(memory);

  async function answer({ output: form, ...request }: ModelRequest & { output: OutputForm }, emit: Emit<ModelEvent>): Promise<void> {
    const schemaKey = keyOf(request.model, form);
    const first: Variant = {
      degree: degreesBySchema.get(schemaKey) ?? 'schema',
      isReasoningDisabled: reasoningDisabledModels.get(request.model) ?? false,
    };
    const off = dialect.withoutReasoning(request.parameters);
    let last = first;
    /** The degree that refusals alone have led to; an empty answer does not lower it. */
    let { degree: enforced } = first;
    let mayDisableReasoning = off !== undefined && !first.isReasoningDisabled;
    let isReasoningCut = false;

    const attempt = (variant: Variant, emitNext: Emit<ModelEvent>): Promise<void> => {
      const reasoningParameters = variant.isReasoningDisabled ? off : undefined;
      const formed: ModelRequest = {
        ...request,
        parameters: { ...request.parameters, ...reasoningParameters, ...dialect.form(form, variant.degree) },
      };
      const hasNoForm = variant.degree === 'none';
      return requireText(backend, formed, {
        emit: emitNext,
        rejectsEmpty: !hasNoForm,
        rejectsReasoningOnly: !hasNoForm || mayDisableReasoning,
      });
    };

    function remedy(error: unknown, failed: Variant): Variant | undefined {
      const isRefused = !(error instanceof EmptyAnswer);
      if (isRefused && ((failed.degree === 'none' && !failed.isReasoningDisabled) || !refusesForm(error))) return undefined;
      const hasReasoning = !isRefused && error.hasReasoning;
      if (hasReasoning) isReasoningCut ||= error.isCut;
      if (hasReasoning && mayDisableReasoning) last = { degree: failed.degree, isReasoningDisabled: true };
      else {
        // A variant that began with reasoning disabled was never tried with reasoning.
        const next = failed === first && failed.isReasoningDisabled ? failed.degree : nextDegree(failed.degree);
        if (isRefused && !failed.isReasoningDisabled) enforced = next;
        last = { degree: next, isReasoningDisabled: false };
      }
      mayDisableReasoning &&= !last.isReasoningDisabled;
      request.onRepeat?.(describeVariant(request, form, { variant: last, isRefused }), isRefused ? error : undefined);
      return last;
    }

    await withRemedies(first, attempt, { emit, remedy, maxRepeats: Infinity, isAnswer: isSpoken });
    if (enforced !== first.degree) degreesBySchema.set(schemaKey, enforced);
    if (last.isReasoningDisabled !== first.isReasoningDisabled && !isReasoningCut)
      reasoningDisabledModels.set(request.model, last.isReasoningDisabled);
  }

  return {
    answer: (request, emit) =>
      request.output === undefined ? backend.answer(request, emit) : answer({ ...request, output: request.output }, emit),
  };
}

/** The model returned no text. */
class EmptyAnswer extends Error {
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
 * Some models return nothing if reasoning and a form are combined. @throws Wordless for an empty answer after reasoning, or for any empty answer if
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

/** A hash, so that the key is short however long the schema is. */
function keyOf(model: string, form: OutputForm): string {
  return createHash('sha256')
    .update(JSON.stringify([model, form]))
    .digest('base64');
}

function nextDegree(degree: Degree): Degree {
  return degrees[degrees.indexOf(degree) + 1] ?? 'none';
}

function describeVariant(
  request: ModelRequest,
  form: OutputForm,
  { variant, isRefused }: { variant: Variant; isRefused: boolean },
): ModelRequest {
  const reason = isRefused ? 'form_refused' : 'no_words';
  return {
    ...request,
    ...(variant.degree === 'none' ? {} : { output: form }),
    purpose: { type: 'answer', ...request.purpose, reason },
  };
}

function isSpoken(event: ModelEvent): boolean {
  return (
    (event.type === 'text' && event.text.trim() !== '') || event.type === 'tool-call' || (event.type === 'extra' && event.level === 'delta')
  );
}

/**
 * Refusals have too many wordings to list. An internal error of the server counts if it mentions the form, and so does a crash of Ollama's runner.
 */
function refusesForm(error: unknown): boolean {
  if (!(error instanceof GatewayError)) return false;
  if (error.code === 'upstream_rejected') return [400, 415, 422, 501].includes(error.status);
  return error.code === 'upstream_error' && /format|schema|grammar|json|structured|runner has unexpectedly stopped/i.test(error.message);
}
