import type { ChatEvent, Source } from '../../../core/chat/chat.ts';
import { GatewayError } from '../../../core/errors.ts';
import type { JsonObject } from '../../../shared/json/json.ts';
import { toGatewayError } from '../../errors/error-handler.ts';

/**
 * What a run did before an error. If the model fails after tools have run, their results must not be lost, and a client that retries has to know
 * that they ran.
 */
interface PartialRunSummary {
  /** To be called for every run event and source. */
  note(event: ChatEvent): void;
  /** Adds `run_id`, `calls` and `sources` to an error, unless no tool was called. */
  addTo(error: unknown, requestId: string): unknown;
  /** The same for a stream, which has sent its sources already. */
  addToFrame(error: GatewayError): GatewayError;
}

export function createPartialRunSummary(runId: string): PartialRunSummary {
  const calls: JsonObject[] = [];
  const sources: Source[] = [];

  function extended(error: GatewayError, more: JsonObject): GatewayError {
    const { code, message, param, status, retryAfter } = error;
    const progress = { run_id: runId, calls, ...more };
    const kept = { ...(param !== null && { param }), ...(retryAfter !== undefined && { retryAfter }) };
    return new GatewayError(code, message, { status, cause: error, progress, ...kept });
  }
  return {
    note(event) {
      if (event.type === 'source') sources.push(event.source);
      if (event.type !== 'run-event' || event.event.type !== 'tool.result') return;
      const { id, tool, error } = event.event.data;
      calls.push({ id, tool, ...(error !== undefined && { error }) });
    },
    addTo(error, requestId) {
      if (calls.length === 0) return error;
      return extended(toGatewayError(error, requestId), sources.length === 0 ? {} : { sources });
    },
    addToFrame: (error) => (calls.length === 0 ? error : extended(error, {})),
  };
}
