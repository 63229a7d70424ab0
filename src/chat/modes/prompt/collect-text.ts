import type { ModelEvent } from '../../../core/chat/chat.ts';
import { limits } from '../../../core/limits.ts';
import type { ModelBackend, ModelRequest } from '../../../core/models/model.ts';
import { StopReading, type Emit } from '../../../shared/async/emit.ts';

interface CollectedText {
  text: string;
  /** Ended by the token limit, a content filter, or for a reason that is not known, so it may be incomplete. */
  isCut: boolean;
}

/** Collects a model's answer as text for internal use. Emits only usage and the gateway's own events. */
export async function collectText(backend: ModelBackend, request: ModelRequest, emit: Emit<ModelEvent>): Promise<CollectedText> {
  let text = '';
  let isCut = false;
  const enough = new StopReading();
  try {
    await backend.answer(request, (events) => {
      // Stop reading a model that does not stop by itself: longer texts are never used.
      if (text.length > limits.argumentsBytes) throw enough;
      for (const event of events) {
        if (event.type === 'text') text += event.text;
        else if (event.type === 'finish')
          isCut = event.reason === 'length' || event.reason === 'content_filter' || event.unknownReason !== undefined;
      }
      return emit(events.filter(({ type }) => type === 'usage' || type === 'run-event'));
    });
  } catch (error) {
    if (error !== enough) throw error;
    isCut = true;
  }
  return { text, isCut };
}
