import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { ModelEvent } from '../core/chat.ts';
import { GatewayError } from '../core/errors.ts';
import { isJsonObject, ownValue } from '../shared/json.ts';
import type { JsonObject } from '../shared/json.ts';
import { limits } from '../core/limits.ts';
import type { ModelBackend, ModelRequest, OutputForm } from '../core/model.ts';
import { fitGrammar } from './ollama/fit-grammar.ts';

/** How much of a form is enforced: all of it, that it is JSON, nothing. */
type Degree = 'schema' | 'json' | 'none';
const degrees: readonly Degree[] = ['schema', 'json', 'none'];

/** How a kind of backend is asked. */
export interface FormDialect {
  /** The parameters that ask for a form. */
  form: (form: OutputForm, degree: Degree) => JsonObject;
  /** The parameters that keep a model from thinking; undefined where it was told so already. */
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

/** As vLLM, SGLang and llama.cpp hand it to the chat template. A server that refuses it is asked without. */
function withoutTemplateThought(parameters: JsonObject): JsonObject | undefined {
  const own = ownValue(parameters, 'chat_template_kwargs');
  const given = isJsonObject(own) ? own : {};
  return ownValue(given, 'enable_thinking') === false ? undefined : { chat_template_kwargs: { ...given, enable_thinking: false } };
}

/** One way to put a question. */
interface Way {
  degree: Degree;
  /** The model is kept from thinking. */
  isThoughtless: boolean;
}

/** What came of a way: `thought` is silence after thoughts, which `isCut` were ended by a limit. */
type Outcome = { type: 'answered' } | { type: 'refused'; fault: unknown } | { type: 'silent' } | { type: 'thought'; isCut: boolean };

/**
 * A backend that holds its answer to the form of `request.output`, as far as it can: one that refuses the schema, or says nothing under it, is asked
 * for JSON, then without any form. A model that only thinks is first asked not to. Requests without a form are not touched.
 *
 * What was refused is remembered for the model and this schema: it may be the schema that is at fault, and one caller's must not take the form away
 * from all others. A silence alone teaches nothing about the form. Whether a model has to be kept from thinking is remembered for the model, unless
 * it was a limit, which callers set, that ended its thoughts.
 */
export function constrainOutput(backend: ModelBackend, dialect: FormDialect, now: () => number = Date.now): ModelBackend {
  const memory = { max: limits.outputForms, ttl: limits.outputFormMemoryMs, ttlResolution: 0, perf: { now } };
  const degreesBySchema = new LRUCache<string, Degree>(memory);
  const thoughtlessModels = new LRUCache<string, boolean>(memory);

  async function* chat({ output: form, ...request }: ModelRequest & { output: OutputForm }): AsyncGenerator<ModelEvent, void, undefined> {
    const schemaKey = keyOf(request.model, form);
    const first: Way = {
      degree: degreesBySchema.get(schemaKey) ?? 'schema',
      isThoughtless: thoughtlessModels.get(request.model) ?? false,
    };
    const off = dialect.withoutThought(request.parameters);
    let way = first;
    /** As far as refusals alone lead. */
    let { degree: enforced } = first;
    let mayStopThought = off !== undefined && !first.isThoughtless;
    let isThoughtCut = false;
    for (;;) {
      const thought = way.isThoughtless ? off : undefined;
      const asked: ModelRequest = { ...request, parameters: { ...request.parameters, ...thought, ...dialect.form(form, way.degree) } };
      const isFormless = way.degree === 'none';
      const outcome = yield* tryOnce(backend, asked, {
        refusal: !isFormless || way.isThoughtless,
        silence: !isFormless,
        thought: !isFormless || mayStopThought,
      });
      if (outcome.type === 'answered') {
        if (enforced !== first.degree) degreesBySchema.set(schemaKey, enforced);
        if (way.isThoughtless !== first.isThoughtless && !isThoughtCut) thoughtlessModels.set(request.model, way.isThoughtless);
        return;
      }
      if (outcome.type === 'thought') isThoughtCut ||= outcome.isCut;
      if (outcome.type === 'thought' && mayStopThought) way = { degree: way.degree, isThoughtless: true };
      else {
        // What is remembered as thoughtless was not tried with thoughts.
        const next = way === first && way.isThoughtless ? way.degree : nextDegree(way.degree);
        if (outcome.type === 'refused' && !way.isThoughtless) enforced = next;
        way = { degree: next, isThoughtless: false };
      }
      mayStopThought &&= !way.isThoughtless;
      const fault = outcome.type === 'refused' ? outcome.fault : undefined;
      request.askedAgain?.(describeWay(request, form, { way, isRefused: outcome.type === 'refused' }), fault);
    }
  }

  return { chat: (request) => (request.output === undefined ? backend.chat(request) : chat({ ...request, output: request.output })) };
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
    asking: { purpose: 'answer', ...request.asking, reason },
  };
}

/** An answer that can stand is passed on. `another`: after what there is another way to ask; otherwise that has to stand. */
async function* tryOnce(
  backend: ModelBackend,
  request: ModelRequest,
  another: { refusal: boolean; silence: boolean; thought: boolean },
): AsyncGenerator<ModelEvent, Outcome> {
  let hasSpoken = false;
  let hasThought = false;
  let isCut = false;
  const outcome = (): Outcome => {
    if (!hasSpoken && hasThought && another.thought) return { type: 'thought', isCut };
    return hasSpoken || !another.silence ? { type: 'answered' } : { type: 'silent' };
  };
  try {
    for await (const event of backend.chat(request)) {
      if (isSpoken(event)) hasSpoken = true;
      if (event.type === 'reasoning' && event.text.trim() !== '') hasThought = true;
      if (event.type === 'finish') isCut = event.reason === 'length';
      // Models whose thoughts and form exclude each other end without a word.
      if (event.type === 'finish' && outcome().type !== 'answered') return outcome();
      yield event;
    }
    return outcome();
  } catch (error) {
    if (!another.refusal || hasSpoken || !refusesForm(error)) throw error;
    return { type: 'refused', fault: error };
  }
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
