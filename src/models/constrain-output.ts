import { warningEvent } from '../core/chat/caller-warning.ts';
import type { ModelEvent } from '../core/chat/chat.ts';
import { GatewayError } from '../core/errors.ts';
import type { Emit } from '../shared/async/emit.ts';
import { isJsonObject, ownValue, type JsonObject } from '../shared/json/json.ts';
import type { Lesson } from '../core/models/lesson.ts';
import type { ModelBackend, ModelLessons, ModelRequest, OutputForm } from '../core/models/model.ts';
import { withRemedies } from '../shared/refusals/with-remedies.ts';
import { fitGrammar } from './ollama/fit-grammar.ts';
import { ownLessons } from './remedies/refusal-memory.ts';
import { hashOf } from './remedies/hash-content.ts';
import { aboutMakingGrammar, isAboutOutput } from './remedies/refusal-wordings.ts';

/** How much of an output form is enforced: the schema, only that it is JSON, or nothing. */
type Degree = 'schema' | 'json' | 'none';
const degrees: readonly Degree[] = ['schema', 'json', 'none'];

/** How a kind of backend is asked for structured output. */
interface FormDialect {
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
 * Refusals are remembered per model and schema, as far as they are proven. An empty answer by itself teaches nothing about the form. That a model
 * needs its reasoning disabled is remembered for the caller, whose words may be why it said nothing, unless its reasoning ended at a token limit,
 * which callers set.
 */
export function constrainOutput(
  backend: ModelBackend,
  dialect: FormDialect,
  lessonsOf: (model: string) => ModelLessons = ownLessons(),
): ModelBackend {
  async function answer({ output: form, ...request }: ModelRequest & { output: OutputForm }, emit: Emit<ModelEvent>): Promise<void> {
    const lessons = lessonsOf(request.model);
    const known = recallForms(lessons, request, form);
    const first: Variant = {
      degree: degrees.find((degree) => degree === known.form?.change) ?? 'schema',
      isReasoningDisabled: known.reasoning?.change === 'disabled',
    };
    for (const lesson of Object.values(known)) if (lessons.isNewTo(lesson, request)) await emit([warningEvent(lesson.warning)]);
    const attempts = new FormAttempts({ backend, dialect, request, form, first });
    await withRemedies(first, (variant, emitNext: Emit<ModelEvent>) => attempts.attempt(variant, emitNext), {
      emit,
      remedy: (error, failed) => attempts.nextAfter(error, failed),
      maxRepeats: Infinity,
      isAnswer: isSpoken,
    });
    attempts.learn(lessons);
  }

  return {
    answer: (request, emit) =>
      request.output === undefined ? backend.answer(request, emit) : answer({ ...request, output: request.output }, emit),
  };
}

interface FormedRequest {
  backend: ModelBackend;
  dialect: FormDialect;
  request: ModelRequest;
  form: OutputForm;
  first: Variant;
}

/** The variants of one request, from the first to the one that is answered. */
class FormAttempts {
  readonly #formed: FormedRequest;
  /** The parameters that disable reasoning; undefined if it is disabled already. */
  readonly #off: JsonObject | undefined;
  #last: Variant;
  /** The degree to which refusals have led; an empty answer does not lower it. */
  #enforced: Degree;
  #mayDisableReasoning: boolean;
  #isReasoningCut = false;
  /** Of the last refusal: its words that point at the form. */
  #pointsAt: string | undefined;
  #words = '';

  constructor(formed: FormedRequest) {
    const { dialect, request, first } = formed;
    this.#formed = formed;
    this.#off = dialect.withoutReasoning(request.parameters);
    this.#last = first;
    this.#enforced = first.degree;
    this.#mayDisableReasoning = this.#off !== undefined && !first.isReasoningDisabled;
  }

  attempt({ degree, isReasoningDisabled }: Variant, emit: Emit<ModelEvent>): Promise<void> {
    const { backend, dialect, request, form } = this.#formed;
    const parameters = { ...request.parameters, ...(isReasoningDisabled && this.#off), ...dialect.form(form, degree) };
    const rejectsEmpty = degree !== 'none';
    const rejectsReasoningOnly = rejectsEmpty || this.#mayDisableReasoning;
    return requireText(backend, { ...request, parameters }, { emit, rejectsEmpty, rejectsReasoningOnly });
  }

  nextAfter(error: unknown, failed: Variant): Variant | undefined {
    const { request, form, first } = this.#formed;
    const isRefused = !(error instanceof EmptyAnswer);
    if (isRefused && ((failed.degree === 'none' && !failed.isReasoningDisabled) || !refusesForm(error))) return undefined;
    const hasReasoning = !isRefused && error.hasReasoning;
    if (hasReasoning) this.#isReasoningCut ||= error.isCut;
    if (hasReasoning && this.#mayDisableReasoning) this.#last = { degree: failed.degree, isReasoningDisabled: true };
    else {
      // A variant that began with reasoning disabled was never tried with reasoning.
      const next = failed === first && failed.isReasoningDisabled ? failed.degree : nextDegree(failed.degree);
      if (isRefused && !failed.isReasoningDisabled) {
        this.#enforced = next;
        this.#pointsAt = wordsAboutForm(error);
        this.#words = error instanceof Error ? error.message : '';
      }
      this.#last = { degree: next, isReasoningDisabled: false };
    }
    this.#mayDisableReasoning &&= !this.#last.isReasoningDisabled;
    request.onRepeat?.(describeVariant(request, form, { variant: this.#last, isRefused }), isRefused ? error : undefined);
    return this.#last;
  }

  learn(lessons: ModelLessons): void {
    const { request, form, first } = this.#formed;
    if (this.#enforced !== first.degree)
      lessons.learn(lessonAboutForm(this.#enforced, form), { request, pointsAt: this.#pointsAt, words: this.#words });
    if (this.#last.isReasoningDisabled !== first.isReasoningDisabled && !this.#isReasoningCut)
      lessons.learn(lessonAboutReasoning(this.#last.isReasoningDisabled), { request, pointsAt: undefined, rule: 'own' });
  }
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

interface KnownForms {
  form?: Lesson;
  reasoning?: Lesson;
}

/** Nothing is hashed unless something is remembered. */
function recallForms(lessons: ModelLessons, request: ModelRequest, form: OutputForm): KnownForms {
  const forms = lessons.recall('form', request);
  const known = forms.length === 0 ? undefined : hashOf(form);
  const ofForm = forms.find(({ content }) => content === known);
  const reasoning = lessons.recall('reasoning', request).find(({ change }) => change === 'disabled');
  return { ...(ofForm && { form: ofForm }), ...(reasoning && { reasoning }) };
}

function lessonAboutForm(degree: Degree, form: OutputForm): Lesson {
  const how = degree === 'none' ? 'without one' : 'with less strict enforcement';
  const message = `The model refuses a form of structured output; it is asked ${how}.`;
  return { kind: 'form', subject: '', change: degree, content: hashOf(form), warning: { code: 'form_relaxed', message } };
}

function lessonAboutReasoning(isDisabled: boolean): Lesson {
  const message = 'The model only reasons where structured output is asked for; its reasoning is disabled there.';
  return {
    kind: 'reasoning',
    subject: '',
    change: isDisabled ? 'disabled' : 'enabled',
    content: '',
    warning: { code: 'form_relaxed', message },
  };
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

/** The words that can only be about the form. Undefined for a crash or what the model wrote, which may have any cause. */
function wordsAboutForm(error: unknown): string | undefined {
  if (!(error instanceof GatewayError) || isAboutOutput(error.message)) return undefined;
  const words = `${error.param ?? ''} ${error.message}`;
  return (aboutForm.exec(words) ?? aboutMakingGrammar.exec(words))?.[0];
}

const aboutForm =
  /response_format|text\.format|json_schema|json_object|guided_json|structured[ _]outputs?|\binvalid schema\b|\binvalid format\b/i;
