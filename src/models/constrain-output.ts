import type { ModelEvent } from '../core/chat.ts';
import { GatewayError } from '../core/errors.ts';
import type { JsonObject } from '../core/json.ts';
import { limits } from '../core/limits.ts';
import type { ModelBackend, ModelRequest, OutputForm } from '../core/model.ts';
import { fitGrammar } from './fit-grammar.ts';

/** How much of a form is enforced: all of it, that it is JSON, nothing. */
type Degree = 'schema' | 'json' | 'none';
const degrees: readonly Degree[] = ['schema', 'json', 'none'];

/** The parameters that ask a backend for it. */
export type WriteForm = (form: OutputForm, degree: Degree) => JsonObject;

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

/**
 * A backend that holds its answer to the form of `request.output`, as far as it can: one that refuses the schema, or says nothing under it, is asked
 * for JSON, then without any form. What worked is remembered for the model. Requests without a form are not touched.
 */
export function constrainOutput(backend: ModelBackend, write: WriteForm, now: () => number = Date.now): ModelBackend {
  const known = new Map<string, { degree: Degree; until: number }>();

  function remember(model: string, degree: Degree): void {
    known.delete(model);
    known.set(model, { degree, until: now() + limits.outputFormMemoryMs });
    const oldest = known.keys().next().value;
    if (known.size > limits.outputFormModels && oldest !== undefined) known.delete(oldest);
  }

  async function* chat({ output: _form, ...request }: ModelRequest, form: OutputForm): AsyncGenerator<ModelEvent, void, undefined> {
    const memory = known.get(request.model);
    const first = memory !== undefined && memory.until > now() ? memory.degree : 'schema';
    for (let index = degrees.indexOf(first); ; index += 1) {
      const degree = degrees[index] ?? 'none';
      const asked: ModelRequest = { ...request, parameters: { ...request.parameters, ...write(form, degree) } };
      const hasAnswered = yield* tryOnce(backend, asked, degree === 'none');
      if (!hasAnswered) continue;
      if (degree !== first) remember(request.model, degree);
      return;
    }
  }

  return { chat: (request) => (request.output === undefined ? backend.chat(request) : chat(request, request.output)) };
}

/** Whether there was an answer that can stand. */
async function* tryOnce(backend: ModelBackend, request: ModelRequest, isLast: boolean): AsyncGenerator<ModelEvent, boolean> {
  let hasSpoken = false;
  try {
    for await (const event of backend.chat(request)) {
      if (isSpoken(event)) hasSpoken = true;
      // Models whose thoughts and form exclude each other end without a word.
      if (event.type === 'finish' && !hasSpoken && !isLast) return false;
      yield event;
    }
    return hasSpoken || isLast;
  } catch (error) {
    if (isLast || hasSpoken || !refusesForm(error)) throw error;
    return false;
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
