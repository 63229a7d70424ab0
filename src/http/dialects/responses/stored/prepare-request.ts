import type { Caller } from '../../../../core/callers/caller.ts';
import { GatewayError, invalidField, shownId } from '../../../../core/errors.ts';
import { limits } from '../../../../core/limits.ts';
import type { ResponseStore, StoredResponse } from '../../../../core/stores/response-store.ts';
import { isJsonObject, type JsonObject } from '../../../../shared/json/json.ts';
import type { MaybePromise } from '../../../../shared/async/maybe-promise.ts';
import { idOf, isOfAnswer, itemsIn, referenceIn, toHistory, toStoredItems } from './stored-items.ts';

/** All of them, as JSON: no model's context holds more, and more would hold up the gateway. */
export const responseHistoryCharacters = 2 * 1024 * 1024;

/** What is stored of a request with its answer. */
export interface StoredRequest {
  previousId: string | undefined;
  input: JsonObject[];
  isBackground: boolean;
}

interface PreparedBody {
  /** With the conversation that it builds on before its input, and `store` as it is meant here. */
  body: unknown;
  /** How many items of the input come from stored responses. */
  restored: number;
  /** Absent: the answer is not stored. */
  stored?: StoredRequest;
}

interface PrepareOptions {
  store: Pick<ResponseStore, 'findHistory' | 'findItems'>;
  /** `STORE_CHATS` */
  isStoring: boolean;
  /** Whether a response of this caller runs in the background now. */
  isRunning: (caller: Caller, id: string) => boolean;
  newId: () => string;
}

const noStore = 'This gateway stores no responses: an administrator can set STORE_CHATS=true.';
const wholeInput = 'Send the conversation itself as input.';

/**
 * Puts what a request refers to in its place: the conversation of `previous_response_id`, and stored items. The instructions of earlier responses are
 * not part of it.
 * @throws GatewayError `invalid_request`, `previous_response_not_found`, `storage_unavailable`
 */
export function createRequestPreparer({ store, isStoring, isRunning, newId }: PrepareOptions) {
  async function findHistory(caller: Caller, previousId: string, own: readonly JsonObject[]): Promise<JsonObject[]> {
    // First, because it may end while it is read.
    const isUnderWay = isRunning(caller, previousId);
    const shown = shownId(previousId);
    const bounds = { responses: limits.responseHistory, characters: responseHistoryCharacters };
    const history = await store.findHistory(caller.id, previousId, bounds);
    if (history.type === 'missing') {
      const what = history.id === previousId ? shown : `${shownId(history.id)}, on which ${shown} builds`;
      const cause = 'Responses are kept for 30 days, unless they are deleted, sent with "store": false, or too large.';
      throw notFound(`there is no stored response ${what}. ${cause} ${wholeInput}`);
    }
    if (history.type === 'too_long') {
      const cure = 'Start a new conversation and include what you still need as input.';
      const most = `${limits.responseHistory} responses or ${responseHistoryCharacters} characters`;
      throw wrongPrevious(`the conversation up to ${shown} has more than ${most}. ${cure}`);
    }
    requireAnswered(history.responses.at(-1), { isUnderWay, shown });
    return toHistory(history.responses, own);
  }

  async function restore(caller: Caller, { previousId, own }: Asked): Promise<Restored> {
    const history = previousId === undefined ? [] : await findHistory(caller, previousId, own);
    const known = new Set(history.map(idOf).filter((id) => id !== ''));
    // Some clients send or name items again that the earlier responses have.
    const added = own.filter((item) => !known.has(referenceIn(item) ?? '') && !(isOfAnswer(item) && known.has(idOf(item))));
    const references = added.flatMap((item) => referenceIn(item) ?? []);
    const found = references.length === 0 ? new Map() : await store.findItems(caller.id, references, responseHistoryCharacters);
    if (found === undefined) {
      const most = `${responseHistoryCharacters} characters`;
      throw invalidField('input', `the responses of its references have more than ${most}. Send the items themselves.`);
    }
    return { history, added: added.map((item) => found.get(referenceIn(item) ?? '') ?? item) };
  }

  function prepared(body: JsonObject, { previousId, isStored }: Asked, { history, added }: Restored): PreparedBody {
    const input = history.length === 0 && typeof body['input'] === 'string' ? body['input'] : [...history, ...added];
    const stored = { previousId, input: isStored ? toStoredItems(added, newId) : [], isBackground: body['background'] === true };
    return { body: { ...body, input, store: isStored }, restored: history.length, ...(isStored && { stored }) };
  }

  return (body: unknown, caller: Caller): MaybePromise<PreparedBody> => {
    if (!isJsonObject(body)) return { body, restored: 0 };
    const { store: wanted = null } = body;
    // The schema reports what is wrong.
    if (wanted !== null && typeof wanted !== 'boolean') return { body, restored: 0 };
    const isStored = isStoring && wanted !== false;
    if (body['background'] === true && !isStored) {
      const cure = isStoring ? 'Leave out "store": false.' : noStore;
      throw invalidField('background', `only a response that is stored can be fetched later. ${cure}`);
    }
    const previous = body['previous_response_id'];
    const own = itemsIn(body['input']);
    const previousId = typeof previous === 'string' ? previous : undefined;
    if (previousId !== undefined && !isStoring) throw notFound(`${noStore} ${wholeInput}`);
    // The schema says that the input is wrong.
    if (own === undefined) return { body, restored: 0 };
    const asked: Asked = { previousId, isStored, own };
    const isWhole = previousId === undefined && (!isStoring || own.every((item) => referenceIn(item) === undefined));
    if (isWhole) return prepared(body, asked, { history: [], added: own });
    return restore(caller, asked).then((restored) => prepared(body, asked, restored));
  };
}

interface Asked {
  previousId: string | undefined;
  /** The answer is to be stored. */
  isStored: boolean;
  own: readonly JsonObject[];
}

interface Restored {
  history: readonly JsonObject[];
  added: readonly JsonObject[];
}

function requireAnswered(last: StoredResponse | undefined, { isUnderWay, shown }: { isUnderWay: boolean; shown: string }): void {
  if (isUnderWay)
    throw wrongPrevious(`${shown} is not complete. Wait until its status is "completed", or cancel it and build on the one before.`);
  // One that is stored as running was interrupted.
  const status = last?.isRunning === true ? 'failed' : last?.response['status'];
  if (status === 'failed' || status === 'cancelled')
    throw wrongPrevious(`${shown} has the status "${status}", so there is no answer to build on. Build on the one before it.`);
}

function notFound(message: string): GatewayError {
  return new GatewayError('previous_response_not_found', `previous_response_id: ${message}`, { param: 'previous_response_id' });
}

function wrongPrevious(message: string): GatewayError {
  return invalidField('previous_response_id', message);
}

/** A message about the input, in terms of what was sent, where items were put before it. */
export function withoutRestored(text: string, restored: number): string {
  return text.replace(/^input\.(\d+)/, (path, index: string) => (Number(index) < restored ? path : `input.${Number(index) - restored}`));
}
