import type { ChatMessage } from '../../../core/chat/chat.ts';
import { GatewayError } from '../../../core/errors.ts';
import type { ModelBackend, ModelRequest } from '../../../core/models/model.ts';
import { withRemedies } from '../../../shared/refusals/with-remedies.ts';

const fields = ['reasoning_content', 'reasoning', 'thinking', 'reasoning_details'];

/**
 * Sends the reasoning before tool calls back with their results, in the field in which the backend sent it: DeepSeek and others refuse the results
 * without it. For a server that refuses the field, it is omitted for the rest of the run. One instance per run.
 */
export function replayReasoning(backend: ModelBackend): ModelBackend {
  let takesReasoning = true;
  return {
    answer(request, emit) {
      if (!request.messages.some((message) => hasReasoning(message))) return backend.answer(request, emit);
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

function hasReasoning(message: ChatMessage): boolean {
  const { extra } = message;
  return message.role === 'assistant' && extra !== undefined && fields.some((field) => Object.hasOwn(extra, field));
}

function refusesReasoning(error: unknown): boolean {
  if (!(error instanceof GatewayError) || error.code !== 'upstream_rejected') return false;
  const words = `${error.param ?? ''} ${error.message}`;
  // An error that the field is missing mentions it too; omitting it would not help then.
  return /reasoning|thinking/i.test(words) && !/missing|must be passed/i.test(words);
}

function withoutReasoning(request: ModelRequest): ModelRequest {
  const messages = request.messages.map((message): ChatMessage => {
    if (!hasReasoning(message)) return message;
    const { extra = {}, ...rest } = message;
    const others = Object.entries(extra).filter(([key]) => !fields.includes(key));
    return others.length === 0 ? rest : { ...rest, extra: Object.fromEntries(others) };
  });
  return { ...request, messages };
}
