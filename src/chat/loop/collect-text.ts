import type { ModelEvent } from '../../core/chat.ts';
import { limits } from '../../core/limits.ts';
import type { ModelBackend, ModelRequest } from '../../core/model.ts';
import { StopReading } from '../../shared/emit.ts';
import type { Emit } from '../../shared/emit.ts';

export interface CollectedText {
  text: string;
  /** Ended by the token limit or a filter: it may end in the middle of something. */
  isCut: boolean;
}

/** A model's answer as text, for the gateway alone. Only usage and the gateway's own events are emitted. */
export async function collectText(backend: ModelBackend, request: ModelRequest, emit: Emit<ModelEvent>): Promise<CollectedText> {
  let text = '';
  let isCut = false;
  const enough = new StopReading();
  try {
    await backend.answer(request, (events) => {
      // A model that does not stop only costs time: more than this is never read.
      if (text.length > limits.argumentsBytes) throw enough;
      for (const event of events) {
        if (event.type === 'text') text += event.text;
        else if (event.type === 'finish') isCut = event.reason === 'length' || event.reason === 'content_filter';
      }
      return emit(events.filter(({ type }) => type === 'usage' || type === 'run-event'));
    });
  } catch (error) {
    if (error !== enough) throw error;
    isCut = true;
  }
  return { text, isCut };
}
