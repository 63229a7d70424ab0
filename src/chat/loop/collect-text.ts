import type { ModelEvent } from '../../core/chat.ts';
import { limits } from '../../core/limits.ts';
import type { ModelBackend, ModelRequest } from '../../core/model.ts';

export interface CollectedText {
  text: string;
  /** Ended by the token limit or a filter: whatever stands there may be half of something. */
  isCut: boolean;
}

/** A model's answer as text, for the gateway alone. Only usage and the gateway's own events come through. */
export async function* collectText(backend: ModelBackend, request: ModelRequest): AsyncGenerator<ModelEvent, CollectedText> {
  const answer: CollectedText = { text: '', isCut: false };
  for await (const event of backend.chat(request)) {
    // Beyond what is ever read, a model that does not stop only costs time.
    if (answer.text.length > limits.argumentsBytes) return { ...answer, isCut: true };
    if (event.type === 'text') answer.text += event.text;
    else if (event.type === 'finish') answer.isCut = event.reason === 'length' || event.reason === 'content_filter';
    else if (event.type === 'usage' || event.type === 'run-event') yield event;
  }
  return answer;
}
