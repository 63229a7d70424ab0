import type { ChatEvent, Source } from '../../../core/chat/chat.ts';
import { GatewayError } from '../../../core/errors.ts';
import type { JsonObject } from '../../../shared/json/json.ts';
import { toGatewayError } from '../../errors/error-handler.ts';

/**
 * What a run did before an error. If the model fails after tools have run, their results must not be lost, and a client that retries has to know
 * that they ran.
 */
export class PartialRunSummary {
  readonly #runId: string;
  readonly #calls: JsonObject[] = [];
  readonly #sources: Source[] = [];

  constructor(runId: string) {
    this.#runId = runId;
  }

  /** To be called for every run event and source. */
  note(event: ChatEvent): void {
    if (event.type === 'source') this.#sources.push(event.source);
    if (event.type !== 'run-event' || event.event.type !== 'tool.result') return;
    const { id, tool, error } = event.event.data;
    this.#calls.push({ id, tool, ...(error !== undefined && { error }) });
  }

  /** Adds `run_id`, `calls` and `sources` to an error, unless no tool was called. */
  addTo(error: unknown, requestId: string): unknown {
    if (this.#calls.length === 0) return error;
    return this.#extended(toGatewayError(error, requestId), this.#sources.length === 0 ? {} : { sources: this.#sources });
  }

  /** The same for a stream, which has sent its sources already. */
  addToFrame(error: GatewayError): GatewayError {
    return this.#calls.length === 0 ? error : this.#extended(error, {});
  }

  #extended(error: GatewayError, more: JsonObject): GatewayError {
    const { code, message, param, status, retryAfter } = error;
    const progress = { run_id: this.#runId, calls: this.#calls, ...more };
    const kept = { ...(param !== null && { param }), ...(retryAfter !== undefined && { retryAfter }) };
    return new GatewayError(code, message, { status, cause: error, progress, ...kept });
  }
}
