import type { ChatMessage } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import type { ModelBackend, ModelRequest } from '../../core/model.ts';
import { withRemedies } from '../../shared/with-remedies.ts';

const fields = ['reasoning_content', 'reasoning', 'thinking', 'reasoning_details'];

/**
 * The reasoning before a model's calls goes back with their results, under the name that its backend gave it. DeepSeek and others refuse the
 * results without it; a server that refuses the field itself gets none for the rest of the run. For one run.
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
  // A complaint that the field is missing names it too; leaving it out would not help then.
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
