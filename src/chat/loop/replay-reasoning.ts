import type { ChatMessage, ModelEvent } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import type { ModelBackend, ModelRequest } from '../../core/model.ts';

const fields = ['reasoning_content', 'reasoning', 'thinking', 'reasoning_details'];

/**
 * What a model thought before its calls goes back with their results under the name that its backend gave it. DeepSeek and others refuse the results
 * without; a server that refuses the field itself is asked again without, for the rest of the run. For one run.
 */
export function replayReasoning(backend: ModelBackend): ModelBackend {
  let takesThoughts = true;

  async function* ask(request: ModelRequest): AsyncGenerator<ModelEvent> {
    let hasBegun = false;
    try {
      for await (const event of backend.chat(request)) {
        hasBegun = true;
        yield event;
      }
      return;
    } catch (error) {
      if (hasBegun || !refusesThoughts(error)) throw error;
    }
    takesThoughts = false;
    yield* backend.chat(withoutThoughts(request));
  }

  return {
    chat(request) {
      // No layer over an answer that cannot be refused for this.
      if (!request.messages.some((message) => holdsThought(message))) return backend.chat(request);
      return takesThoughts ? ask(request) : backend.chat(withoutThoughts(request));
    },
  };
}

function holdsThought(message: ChatMessage): boolean {
  const { extra } = message;
  return message.role === 'assistant' && extra !== undefined && fields.some((field) => Object.hasOwn(extra, field));
}

function refusesThoughts(error: unknown): boolean {
  if (!(error instanceof GatewayError) || error.code !== 'upstream_rejected') return false;
  const said = `${error.param ?? ''} ${error.message}`;
  // Also what says that one is missing names the field; there is nothing to be gained by leaving out more.
  return /reasoning|thinking/i.test(said) && !/missing|must be passed/i.test(said);
}

function withoutThoughts(request: ModelRequest): ModelRequest {
  const messages = request.messages.map((message): ChatMessage => {
    if (!holdsThought(message)) return message;
    const { extra = {}, ...rest } = message;
    const others = Object.entries(extra).filter(([key]) => !fields.includes(key));
    return others.length === 0 ? rest : { ...rest, extra: Object.fromEntries(others) };
  });
  return { ...request, messages };
}
