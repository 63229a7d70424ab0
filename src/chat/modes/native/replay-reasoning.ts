import { GatewayError } from '../../../core/errors.ts';
import type { ModelBackend, ModelRequest } from '../../../core/models/model.ts';
import { withRemedies } from '../../../shared/refusals/with-remedies.ts';
import { withoutThoughts } from '../../thoughts/thought-fields.ts';

/**
 * Sends the reasoning before tool calls back with their results, in the field in which the backend sent it: DeepSeek and others refuse the results
 * without it. For a server that refuses the field, it is omitted for the rest of the run. One instance per run.
 */
export function replayReasoning(backend: ModelBackend): ModelBackend {
  let takesReasoning = true;
  return {
    answer(request, emit) {
      if (!takesReasoning) return backend.answer(withoutReasoning(request), emit);
      return withRemedies(request, (next, emitNext) => backend.answer(next, emitNext), {
        emit,
        remedy(error) {
          if (!refusesReasoning(error)) return undefined;
          takesReasoning = false;
          return withoutReasoning(request);
        },
      });
    },
  };
}

function refusesReasoning(error: unknown): boolean {
  if (!(error instanceof GatewayError) || error.code !== 'upstream_rejected') return false;
  const words = `${error.param ?? ''} ${error.message}`;
  // An error that the field is missing mentions it too; omitting it would not help then.
  return /reasoning|thinking|extra_content|thought_?signature/i.test(words) && !/missing|must be passed/i.test(words);
}

function withoutReasoning(request: ModelRequest): ModelRequest {
  return { ...request, messages: request.messages.map((message) => (message.role === 'assistant' ? withoutThoughts(message) : message)) };
}
