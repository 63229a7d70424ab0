import { setTimeout as wait } from 'node:timers/promises';
import type { ChatEvent } from '../../../../core/chat/chat.ts';
import { GatewayError } from '../../../../core/errors.ts';
import type { ResponseStore, StoredResponse } from '../../../../core/stores/response-store.ts';
import type { JsonObject } from '../../../../shared/json/json.ts';
import { notStored, notStoredFor } from '../../answers/not-stored.ts';
import { storedAnswerCharacters, tooLargeToStore } from '../../answers/store-answer.ts';
import { failedResponse } from '../response-wire.ts';
import { withinBounds, type StorageLog } from './store-answers.ts';

/** How often storing the end of a response is tried, and the pause in between: its client will come back for it. */
const tries = 10;
const retryDelayMs = 1_000;

interface EndStorageOptions {
  store: Pick<ResponseStore, 'replaceRunning'>;
  log: StorageLog;
  pause: ((milliseconds: number, signal: AbortSignal) => Promise<void>) | undefined;
  /** Aborted when the gateway shuts down: storing is then tried once more, without a pause. */
  closing: AbortSignal;
}

/** Stores the end of a response in the background. Never rejects; returns a warning for its clients if it could not be stored. */
export function createEndStorage({ store, log, pause = sleep, closing }: EndStorageOptions) {
  return async (stored: StoredResponse, response: JsonObject): Promise<ChatEvent | undefined> => {
    const ended = withinBounds({ ...stored, isRunning: false, response });
    const written = ended ?? { ...stored, isRunning: false, response: responseTooLarge(stored.response) };
    for (let left = tries - 1; ; left -= 1) {
      try {
        await store.replaceRunning(written);
        return ended === undefined ? notStored(tooLargeToStore) : undefined;
      } catch (error) {
        if (left === 0 || closing.aborted) {
          log.error({ err: error, response_id: stored.id }, 'the end of a response in the background could not be stored');
          return notStoredFor(error);
        }
        await pause(retryDelayMs, closing).catch(() => undefined);
      }
    }
  };
}

export function responseTooLarge(begun: JsonObject): JsonObject {
  const problem = `The answer has more than ${storedAnswerCharacters} characters, and was not stored.`;
  return failedResponse(begun, new GatewayError('payload_too_large', `${problem} Ask for less at once.`));
}

const sleep = (milliseconds: number, signal: AbortSignal): Promise<void> => wait(milliseconds, undefined, { signal });
