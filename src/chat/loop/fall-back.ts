import { isModelAllowed, type Caller } from '../../core/callers/caller.ts';
import { warningEvent } from '../../core/chat/caller-warning.ts';
import type { ModelEvent } from '../../core/chat/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import { newAttempts, serverFaultOf, takeAttempt, type Attempts } from '../../core/models/attempts.ts';
import type { FoundModel, ModelBackend, ModelFinder, ModelRequest } from '../../core/models/model.ts';
import type { RunContext } from '../../core/runs/run.ts';
import type { Emit } from '../../shared/async/emit.ts';
import { withThoughtsOf } from '../thoughts/thought-fields.ts';
import { hasCalled } from '../modes/native/answer-from-results.ts';
import { meetsNeeds } from './meets-needs.ts';

interface FallbackOptions {
  model: FoundModel;
  /** Public ids of the models that may answer in its place, in this order. */
  fallbacks: readonly string[];
  models: ModelFinder;
  caller: Caller;
  /** Whether the run has shown text, which another model must not continue. */
  hasShownText: () => boolean;
  /** Reports requests to the log. */
  report: (backend: ModelBackend) => ModelBackend;
}

/** Public ids of the models that may answer in place of the model of a run. */
export function fallbacksOf({ preset }: Pick<RunContext, 'preset'>, model: FoundModel): readonly string[] {
  return preset?.fallbacks ?? model.fallbacks ?? [];
}

/**
 * The backend of a run whose model may be replaced, and the model that answers now: if it cannot answer, and before the first event of its answer, another model is asked. That one
 * then answers for the rest of the run, because it has made the calls whose results are read.
 */
export function fallBack(options: FallbackOptions): { backend: ModelBackend; answering: () => Candidate } {
  const { model, fallbacks, report } = options;
  if (fallbacks.length === 0) return { backend: report(model.backend), answering: () => ({ found: model }) };
  const backend = new ReplaceableBackend(options);
  return { backend, answering: () => backend.answering };
}

/** A model that may answer. */
export interface Candidate {
  found: FoundModel;
  /** Its public id; undefined for the model of the run. */
  id?: string;
}

class ReplaceableBackend implements ModelBackend {
  readonly #options: FallbackOptions;
  #current: Candidate;

  constructor(options: FallbackOptions) {
    this.#options = options;
    this.#current = { found: options.model };
  }

  /** The model that answers now. */
  get answering(): Candidate {
    return this.#current;
  }

  async answer(request: ModelRequest, emit: Emit<ModelEvent>): Promise<void> {
    const attempts = newAttempts();
    let hasBegun = false;
    const watched: Emit<ModelEvent> = (events) => {
      hasBegun ||= events.some(({ type }) => type !== 'run-event');
      return emit(events);
    };
    const fallbacks = this.#fallbacks(request);
    let candidate = this.#current;
    let failure: GatewayError | undefined;
    for (;;) {
      try {
        await this.#ask(candidate, { request: { ...request, attempts }, failure }, watched);
        return;
      } catch (error) {
        if (hasBegun || !(error instanceof GatewayError)) throw error;
        const next = await this.#next(error, { isFallback: failure !== undefined, attempts, fallbacks });
        // What the model of the run has met is what its user can do something about.
        failure ??= error;
        if (next === undefined) throw failure;
        candidate = next;
      }
    }
  }

  /** `failure`: why another model was to answer. */
  #ask(
    { found, id }: Candidate,
    { request, failure }: { request: ModelRequest; failure: GatewayError | undefined },
    emit: Emit<ModelEvent>,
  ) {
    const backend = this.#options.report(found.backend);
    const messages = withThoughtsOf(request.messages, id);
    if (id === undefined) return backend.answer({ ...request, messages }, emit);
    const purpose = { type: 'answer' as const, ...request.purpose, ...(failure !== undefined && { reason: 'model_failed' as const }) };
    let isTold = failure === undefined;
    const announced: Emit<ModelEvent> = (events) => {
      if (isTold || events.every(({ type }) => type === 'run-event')) return emit(events);
      isTold = true;
      this.#current = { found, id };
      return emit([this.#warning(id, failure), ...events]);
    };
    return backend.answer({ ...request, messages, model: found.name, fallback: id, purpose }, announced).catch((error: unknown) => {
      throw hasCalled(request) ? error : withoutLesson(error);
    });
  }

  #warning(id: string, failure: GatewayError | undefined): ModelEvent {
    const message = `${this.#options.model.record.id} could not answer, so ${id} does. The reason: ${failure?.message ?? ''}`;
    const warning = warningEvent({ code: 'model_fallback', message });
    return { ...warning, event: { type: 'warning', data: { code: 'model_fallback', message, model: id } } };
  }

  async #next(
    error: GatewayError,
    { isFallback, attempts, fallbacks }: { isFallback: boolean; attempts: Attempts; fallbacks: AsyncGenerator<Candidate> },
  ): Promise<Candidate | undefined> {
    if (this.#options.hasShownText()) return undefined;
    // A fallback that refuses the request lacks something that it was not known to lack.
    const fault = serverFaultOf(error) ?? (isFallback ? 'down' : undefined);
    if (fault === undefined || (fault === 'missing' && !isFallback) || !takeAttempt(attempts, fault)) return undefined;
    const { value, done } = await fallbacks.next();
    return done === true ? undefined : value;
  }

  /** Those that the caller may use, and that have what the request needs, without the current one. */
  async *#fallbacks(request: ModelRequest): AsyncGenerator<Candidate> {
    const { fallbacks, caller, model } = this.#options;
    for (const id of fallbacks) {
      if (id === model.record.id || id === this.#current.id || !isModelAllowed(caller, id)) continue;
      const found = await this.#find(id, request);
      if (found !== undefined && meetsNeeds(found, request)) yield { found, id };
    }
  }

  async #find(id: string, { signal }: ModelRequest): Promise<FoundModel | undefined> {
    const { models, caller } = this.#options;
    try {
      return await models.require(id, signal, caller);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof GatewayError) return undefined;
      throw error;
    }
  }
}

/**
 * With the code `tools_unsupported` a fallback would have the run begin again in another mode, and teach that the model of the run has no native calls.
 */
function withoutLesson(error: unknown): unknown {
  const isRefusal = error instanceof GatewayError && error.code === 'tools_unsupported';
  return isRefusal ? new GatewayError('upstream_rejected', error.message, { cause: error }) : error;
}
