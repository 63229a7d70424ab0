import type { Caller } from '../../../../core/callers/caller.ts';
import { GatewayError, shownId } from '../../../../core/errors.ts';
import { limits } from '../../../../core/limits.ts';
import type { ResponseStore, StoredResponse } from '../../../../core/stores/response-store.ts';
import type { JsonObject } from '../../../../shared/json/json.ts';
import { failedResponse } from '../response-wire.ts';
import { createBackgroundResponses, type BackgroundResponses } from './background-responses.ts';
import { createResponseSaver, type ResponseSaver, type StorageLog } from './store-answers.ts';
import { createRequestPreparer, responseHistoryCharacters } from './prepare-request.ts';
import { outputIn } from './stored-items.ts';

interface StoredResponsesOptions {
  store: ResponseStore;
  /** `STORE_CHATS` */
  isStoring: boolean;
  newId: () => string;
  /** Milliseconds since 1970. */
  now: () => number;
  log: StorageLog;
}

/** The stored responses, each for its own caller. */
export interface StoredResponses {
  prepare: ReturnType<typeof createRequestPreparer>;
  answers: ResponseSaver;
  background: BackgroundResponses;
  /** As its caller gets it. @throws GatewayError `not_found`, `storage_unavailable` */
  read(caller: Caller, id: string): Promise<JsonObject>;
  /** The items that a response was made of, those that it builds on included, oldest first. @throws as `read` */
  readInput(caller: Caller, id: string): Promise<JsonObject[]>;
  /** Ends its run, if it runs in the background. @throws as `read` */
  delete(caller: Caller, id: string): Promise<void>;
  /** The response as it is then; one that has ended stays as it is. @throws as `read`; `invalid_request` for one that did not run in the background */
  cancel(caller: Caller, id: string): Promise<JsonObject>;
  /** Deletes responses that are too old. */
  prune(): Promise<void>;
  /** To be called when no run is active any more. Resolves when everything is durable. */
  settle(): Promise<void>;
}

export function createStoredResponses({ store, isStoring, newId, now, log }: StoredResponsesOptions): StoredResponses {
  const answers = createResponseSaver({ store, now, log });
  const background = createBackgroundResponses({ store, now, log });

  async function require(caller: Caller, id: string): Promise<StoredResponse> {
    // First, because it may end while it is read.
    const isRunning = background.isRunning(caller, id);
    const found = await store.find(caller.id, id);
    if (found === undefined) throw missing(id, isStoring);
    return found.isRunning && !isRunning ? interrupted(found) : found;
  }

  const read = async (caller: Caller, id: string): Promise<JsonObject> => (await require(caller, id)).response;

  return {
    prepare: createRequestPreparer({ store, isStoring, isRunning: background.isRunning, newId }),
    answers,
    background,
    read,

    async readInput(caller, id) {
      const { input, previousId } = await require(caller, id);
      if (previousId === undefined) return input;
      const bounds = { responses: limits.responseHistory, characters: responseHistoryCharacters };
      const history = await store.findHistory(caller.id, previousId, bounds);
      // If earlier responses are gone, at least the input of this one is returned.
      if (history.type !== 'found') return input;
      return [...history.responses.flatMap((earlier) => [...earlier.input, ...outputIn(earlier.response)]), ...input];
    },

    async delete(caller, id) {
      if (!(await store.delete(caller.id, id))) throw missing(id, isStoring);
      await background.cancel(caller, id);
    },

    async cancel(caller, id) {
      const { response } = await require(caller, id);
      if (response['background'] !== true) {
        throw new GatewayError(
          'invalid_request',
          'Only a response that was made with "background": true can be cancelled. Close the connection of another.',
        );
      }
      await background.cancel(caller, id);
      return read(caller, id);
    },

    prune: () => store.prune(),

    async settle() {
      await Promise.all([answers.settled(), background.settle()]);
    },
  };
}

/** The response of a gateway that was stopped, or could not store the end. */
function interrupted(stored: StoredResponse): StoredResponse {
  const problem =
    'The gateway stopped before this response was complete, or could not store it. Whether calls that were running took effect is unknown.';
  const error = new GatewayError('server_shutting_down', `${problem} Send the request again.`);
  return { ...stored, isRunning: false, response: failedResponse(stored.response, error) };
}

function missing(id: string, isStoring: boolean): GatewayError {
  const cure = isStoring
    ? 'Responses are kept for 30 days, unless they are sent with "store": false.'
    : 'This gateway stores none: an administrator can set STORE_CHATS=true.';
  return new GatewayError('not_found', `There is no stored response ${shownId(id)}. ${cure}`);
}
