import type { AnswerKeeper, KeptAnswer } from '../../answer-keeper.ts';
import type { PreparedRequest } from '../../answer-keeper.ts';
import type { Caller } from '../../../../core/caller.ts';
import { whenThere } from '../../../../shared/maybe-promise.ts';
import { responseFormat } from '../response-wire.ts';
import type { AnswerToKeep } from './keep-answers.ts';
import { withoutRestored } from './prepare-request.ts';
import type { KeptRequest } from './prepare-request.ts';
import { withDecisionsAlone } from './stored-items.ts';
import type { StoredResponses } from './stored-responses.ts';

/** Stores responses as the requests for them say. */
export function createResponseKeeper({
  prepare,
  answers,
  background,
}: Pick<StoredResponses, 'prepare' | 'answers' | 'background'>): AnswerKeeper {
  function keeping(request: KeptRequest, caller: Caller): NonNullable<PreparedRequest['keep']> {
    if (request.isBackground) background.requireRoom(caller);
    return ({ request: { model, stream }, options, decisions }): KeptAnswer => {
      const kept = decisions === undefined ? request : { ...request, input: withDecisionsAlone(request.input) };
      const answer: AnswerToKeep = { caller, request: kept, format: responseFormat(options), model };
      return {
        format: answer.format,
        storing: (started, signal) => answers.storing(started, answer, signal),
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
      whenThere(prepare(sent, caller), ({ body, restored, kept }) => ({
        body,
        explain: (text) => withoutRestored(text, restored),
        ...(kept && { keep: keeping(kept, caller) }),
      })),
  };
}
