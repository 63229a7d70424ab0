import type { AnswerStorage, StoredAnswer } from '../../answers/answer-storage.ts';
import type { PreparedChat } from '../../answers/answer-storage.ts';
import type { Caller } from '../../../../core/callers/caller.ts';
import { whenThere } from '../../../../shared/async/maybe-promise.ts';
import { responseFormat } from '../response-wire.ts';
import type { AnswerToStore } from './store-answers.ts';
import { withoutRestored, type StoredRequest } from './prepare-request.ts';
import { withDecisionsOnly } from './stored-items.ts';
import type { StoredResponses } from './stored-responses.ts';

/** Stores responses as the requests for them say. */
export function createResponseStorage({
  prepare,
  answers,
  background,
}: Pick<StoredResponses, 'prepare' | 'answers' | 'background'>): AnswerStorage {
  function storeFor(request: StoredRequest, caller: Caller): NonNullable<PreparedChat['store']> {
    if (request.isBackground) background.requireRoom(caller);
    return ({ request: { model, stream }, options, decisions }): StoredAnswer => {
      const stored = decisions === undefined ? request : { ...request, input: withDecisionsOnly(request.input) };
      const answer: AnswerToStore = { caller, request: stored, format: responseFormat(options), model };
      return {
        format: answer.format,
        storing: (started) => answers.storing(started, answer),
        save: (response) => answers.save(response, answer),
        ...(request.isBackground && {
          async runInBackground(started, how) {
            const { response, events } = await background.begin(started, answer, { stream, ...how });
            return { begun: response, ...(events && { follow: (emit, signal) => events.follow(-1, { emit, signal }) }) };
          },
        }),
      };
    };
  }

  return {
    prepare: (sent, caller) =>
      whenThere(prepare(sent, caller), ({ body, restored, stored }) => ({
        body,
        explain: (text) => withoutRestored(text, restored),
        ...(stored && { store: storeFor(stored, caller) }),
      })),
  };
}
