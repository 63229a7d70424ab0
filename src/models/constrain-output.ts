import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { ModelEvent } from '../core/chat.ts';
import { GatewayError } from '../core/errors.ts';
import type { Emit } from '../shared/emit.ts';
import { isJsonObject, ownValue } from '../shared/json.ts';
import type { JsonObject } from '../shared/json.ts';
import { limits } from '../core/limits.ts';
import type { ModelBackend, ModelRequest, OutputForm } from '../core/model.ts';
import { withRemedies } from '../shared/with-remedies.ts';
import { fitGrammar } from './ollama/fit-grammar.ts';

/** How much of a form is enforced: all of it, that it is JSON, nothing. */
type Degree = 'schema' | 'json' | 'none';
const degrees: readonly Degree[] = ['schema', 'json', 'none'];

/** How a form is requested from a kind of backend. */
export interface FormDialect {
  /** The parameters that ask for a form. */
  form: (form: OutputForm, degree: Degree) => JsonObject;
  /** The parameters that keep a model from thinking; undefined where the request does so already. */
  withoutThought: (parameters: JsonObject) => JsonObject | undefined;
}

/** OpenAI's `response_format`. */
export function toResponseFormat({ schema, strictSchema }: OutputForm, degree: Degree): JsonObject {
  if (degree === 'none') return {};
  if (degree === 'json') return { response_format: { type: 'json_object' } };
  const isStrict = strictSchema !== undefined;
  return { response_format: { type: 'json_schema', json_schema: { name: 'answer', strict: isStrict, schema: strictSchema ?? schema } } };
}

/** Ollama's `format`, as much of it as a grammar of Ollama can hold. */
export function toOllamaFormat({ schema }: OutputForm, degree: Degree): JsonObject {
  if (degree === 'none') return {};
  return { format: (degree === 'schema' ? fitGrammar(schema) : undefined) ?? 'json' };
}

export const openAiForms: FormDialect = { form: toResponseFormat, withoutThought: withoutTemplateThought };
export const ollamaForms: FormDialect = {
  form: toOllamaFormat,
  withoutThought: (parameters) => (ownValue(parameters, 'think') === false ? undefined : { think: false }),
};

/** As vLLM, SGLang and llama.cpp hand it to the chat template. A server that refuses it gets a request without. */
function withoutTemplateThought(parameters: JsonObject): JsonObject | undefined {
  const own = ownValue(parameters, 'chat_template_kwargs');
  const given = isJsonObject(own) ? own : {};
  return ownValue(given, 'enable_thinking') === false ? undefined : { chat_template_kwargs: { ...given, enable_thinking: false } };
}

/** One way to make the request. */
interface Way {
  degree: Degree;
  /** The model is kept from thinking. */
  isThoughtless: boolean;
}

/**
 * A backend that holds its answer to the form of `request.output`, as far as it can: one that refuses the schema, or says nothing under it, is asked
 * for JSON, then for no form at all. A model that only thinks is first kept from thinking. Requests without a form are not touched.
 *
 * What was refused is remembered for the model and this schema: it may be the schema that is at fault, and one caller's must not take the form away
 * from all others. A silence alone teaches nothing about the form. Whether a model has to be kept from thinking is remembered for the model, unless
 * it was a limit, which callers set, that ended its thoughts.
 */
export function constrainOutput(backend: ModelBackend, dialect: FormDialect, now: () => number = Date.now): ModelBackend {
  const memory = { max: limits.outputForms, ttl: limits.outputFormMemoryMs, ttlResolution: 0, perf: { now } };
  const degreesBySchema = new LRUCache<string, Degree>(memory);
  const thoughtlessModels = new LRUCache<string, boolean>(memory);

  async function answer({ output: form, ...request }: ModelRequest & { output: OutputForm }, emit: Emit<ModelEvent>): Promise<void> {
    const schemaKey = keyOf(request.model, form);
    const first: Way = {
      degree: degreesBySchema.get(schemaKey) ?? 'schema',
      isThoughtless: thoughtlessModels.get(request.model) ?? false,
    };
    const off = dialect.withoutThought(request.parameters);
    let last = first;
    /** As far as refusals alone lead. */
    let { degree: enforced } = first;
    let mayStopThought = off !== undefined && !first.isThoughtless;
    let isThoughtCut = false;

    const attempt = (way: Way, emitNext: Emit<ModelEvent>): Promise<void> => {
      const thought = way.isThoughtless ? off : undefined;
      const formed: ModelRequest = { ...request, parameters: { ...request.parameters, ...thought, ...dialect.form(form, way.degree) } };
      const isFormless = way.degree === 'none';
      return answerInWords(backend, formed, { emit: emitNext, refusesSilence: !isFormless, refusesThought: !isFormless || mayStopThought });
    };

    function remedy(error: unknown, failed: Way): Way | undefined {
      const isRefused = !(error instanceof Wordless);
      if (isRefused && ((failed.degree === 'none' && !failed.isThoughtless) || !refusesForm(error))) return undefined;
      const hasThought = !isRefused && error.hasThought;
      if (hasThought) isThoughtCut ||= error.isCut;
      if (hasThought && mayStopThought) last = { degree: failed.degree, isThoughtless: true };
      else {
        // What is remembered as thoughtless was not tried with thoughts.
        const next = failed === first && failed.isThoughtless ? failed.degree : nextDegree(failed.degree);
        if (isRefused && !failed.isThoughtless) enforced = next;
        last = { degree: next, isThoughtless: false };
      }
      mayStopThought &&= !last.isThoughtless;
      request.onRepeat?.(describeWay(request, form, { way: last, isRefused }), isRefused ? error : undefined);
      return last;
    }

    await withRemedies(first, attempt, { emit, remedy, maxRepeats: Infinity, isAnswer: isSpoken });
    if (enforced !== first.degree) degreesBySchema.set(schemaKey, enforced);
    if (last.isThoughtless !== first.isThoughtless && !isThoughtCut) thoughtlessModels.set(request.model, last.isThoughtless);
  }

  return {
    answer: (request, emit) =>
      request.output === undefined ? backend.answer(request, emit) : answer({ ...request, output: request.output }, emit),
  };
}

/** An answer without a word. */
class Wordless extends Error {
  readonly hasThought: boolean;
  /** A limit ended its thoughts. */
  readonly isCut: boolean;

  constructor(hasThought: boolean, isCut: boolean) {
    super('The model said nothing');
    this.hasThought = hasThought;
    this.isCut = isCut;
  }
}

/**
 * Models whose thoughts and form exclude each other end without a word.
 * @throws Wordless for silence after thoughts, or any silence, where it is refused.
 */
async function answerInWords(
  backend: ModelBackend,
  request: ModelRequest,
  { emit, refusesSilence, refusesThought }: { emit: Emit<ModelEvent>; refusesSilence: boolean; refusesThought: boolean },
): Promise<void> {
  let hasSpoken = false;
  let hasThought = false;
  const endings: (ModelEvent & { type: 'finish' })[] = [];
  await backend.answer(request, (events) => {
    for (const event of events) {
      hasSpoken ||= isSpoken(event);
      hasThought ||= event.type === 'reasoning' && event.text.trim() !== '';
      if (event.type === 'finish') endings.push(event);
    }
    return emit(events.filter(({ type }) => type !== 'finish'));
  });
  const isRefusedThought = hasThought && refusesThought;
  if (!hasSpoken && (isRefusedThought || refusesSilence))
    throw new Wordless(
      isRefusedThought,
      endings.some(({ reason }) => reason === 'length'),
    );
  await emit(endings);
}

/** Short, however long the schema is. */
function keyOf(model: string, form: OutputForm): string {
  return createHash('sha256')
    .update(JSON.stringify([model, form]))
    .digest('base64');
}

function nextDegree(degree: Degree): Degree {
  return degrees[degrees.indexOf(degree) + 1] ?? 'none';
}

/** For the log of the run. */
function describeWay(request: ModelRequest, form: OutputForm, { way, isRefused }: { way: Way; isRefused: boolean }): ModelRequest {
  const reason = isRefused ? 'form_refused' : 'no_words';
  return {
    ...request,
    ...(way.degree === 'none' ? {} : { output: form }),
    purpose: { type: 'answer', ...request.purpose, reason },
  };
}

function isSpoken(event: ModelEvent): boolean {
  return (
    (event.type === 'text' && event.text.trim() !== '') || event.type === 'tool-call' || (event.type === 'extra' && event.level === 'delta')
  );
}

/** Refusals come in too many words to know them all; one about the form in a server's own failure names it, and Ollama's runner falls over it. */
function refusesForm(error: unknown): boolean {
  if (!(error instanceof GatewayError)) return false;
  if (error.code === 'upstream_rejected') return [400, 415, 422, 501].includes(error.status);
  return error.code === 'upstream_error' && /format|schema|grammar|json|structured|runner has unexpectedly stopped/i.test(error.message);
}
