import { warningEvent } from '../../core/chat/caller-warning.ts';
import type { ChatMessage, ModelEvent } from '../../core/chat/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Lesson } from '../../core/models/lesson.ts';
import type { FoundModel, ModelBackend, ModelRequest, ToolPictures } from '../../core/models/model.ts';
import type { Emit } from '../../shared/async/emit.ts';
import { findPictureRefusal } from '../../shared/refusals/picture-refusal.ts';
import { withRemedies } from '../../shared/refusals/with-remedies.ts';
import type { RunPictures } from '../messages/run-pictures.ts';

interface PictureStage {
  backend: ModelBackend;
  model: Pick<FoundModel, 'name' | 'lessons' | 'toolPictures'>;
  pictures: RunPictures;
  /** Results are in the text of the user's message, as in modes without native calls. */
  isInlined?: boolean;
}

/**
 * Shows the model the pictures that functions have returned. A model that refuses them reads the notes in the results instead, as a model does that is
 * not known to see.
 */
export function showPictures({ backend, model, pictures, isInlined = false }: PictureStage): ModelBackend {
  async function show(request: ModelRequest, place: ToolPictures['place'], emit: Emit<ModelEvent>): Promise<void> {
    let refusal: GatewayError | undefined;
    const { messages } = request;
    const shown = { ...request, messages: isInlined ? pictures.appendTo(messages) : pictures.showIn(messages, place) };
    await withRemedies(shown, (next, emitNext: Emit<ModelEvent>) => backend.answer(next, emitNext), {
      emit,
      async remedy(error) {
        if (!mayBeAboutPictures(error)) return undefined;
        request.signal.throwIfAborted();
        refusal = error;
        return request;
      },
    });
    if (refusal === undefined) return;
    const lesson = lessonFor(model.name);
    model.lessons.learn(lesson, { request, pointsAt: findPictureRefusal(refusal.message), words: refusal.message });
    await warn(lesson, request, emit);
  }

  async function warn(lesson: Lesson, request: ModelRequest, emit: Emit<ModelEvent>): Promise<void> {
    if (model.lessons.isNewTo(lesson, request)) await emit([warningEvent(lesson.warning)]);
  }

  return {
    answer(request, emit) {
      const { toolPictures, lessons } = model;
      if (pictures.isEmpty || toolPictures === undefined) return backend.answer(request, emit);
      if (!toolPictures.isKnownToSee && !request.messages.some(hasPicture)) return backend.answer(request, emit);
      const [known] = lessons.recall('pictures', request);
      return known === undefined
        ? show(request, toolPictures.place, emit)
        : warn(known, request, emit).then(() => backend.answer(request, emit));
    },
  };
}

/** Whoever sends a picture to a model knows that it sees. */
function hasPicture({ role, content }: ChatMessage): boolean {
  return role === 'user' && Array.isArray(content) && content.some(({ type }) => type === 'image_url');
}

/** A refusal that names no picture may be about the message that carries them, or about the length of it all. */
function mayBeAboutPictures(error: unknown): error is GatewayError {
  if (!(error instanceof GatewayError)) return false;
  if (error.code === 'upstream_rejected' || error.code === 'context_length_exceeded') return true;
  return error.code === 'upstream_error' && findPictureRefusal(error.message) !== undefined;
}

function lessonFor(model: string): Lesson {
  const message = `${model} refuses pictures in results of functions; it reads a note in their place.`;
  return { kind: 'pictures', subject: '', change: 'left out', content: '', warning: { code: 'pictures_left_out', message } };
}
