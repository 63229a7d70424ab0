import type { JsonObject } from '../../shared/json/json.ts';

/** An answer of the Responses API that can be read back and built on. */
export interface StoredResponse {
  id: string;
  callerId: string;
  /** Milliseconds since 1970. */
  created: number;
  /** The response that this one builds on. */
  previousId: string | undefined;
  /** Its run goes on, or did so when the gateway was stopped. */
  isRunning: boolean;
  /** The items of its own request, each with an id. */
  input: JsonObject[];
  /** As its caller gets it. */
  response: JsonObject;
}

/** The age is counted from when a response was stored, or a later one built on it. Sizes are characters as stored, encrypted. */
export interface ResponseBounds {
  ageMs: number;
  responsesPerCaller: number;
  charactersPerCaller: number;
  characters: number;
}

/** What one request may build on. `characters`: of JSON. */
export interface HistoryBounds {
  responses: number;
  characters: number;
}

/** A response and those that it builds on, the first one first; or why it cannot be built on. `id`: of the response that is not there. */
type ResponseHistory = { type: 'found'; responses: StoredResponse[] } | { type: 'missing'; id: string } | { type: 'too_long' };

/**
 * Stores responses, encrypted. Every method is limited to the responses of one caller. Beyond the bounds of one caller, those that were used longest
 * ago are deleted, beyond the bounds of all those of the caller with the most. Responses that are too old are never found.
 * @throws GatewayError `storage_unavailable`
 */
export interface ResponseStore {
  /** Adds a response; those that it builds on are kept longer with it. Resolves when it is durable. */
  add(response: StoredResponse): Promise<void>;
  /** Replaces a response that is running. False when it has ended already, or was deleted. */
  replaceRunning(response: StoredResponse): Promise<boolean>;
  /** Undefined also for a response that cannot be decrypted with the current secret. */
  find(callerId: string, id: string): Promise<StoredResponse | undefined>;
  findHistory(callerId: string, id: string, bounds: HistoryBounds): Promise<ResponseHistory>;
  /** Items of outputs by their ids, as far as there are any; undefined if they have more characters in all. */
  findItems(callerId: string, itemIds: readonly string[], maxCharacters: number): Promise<Map<string, JsonObject> | undefined>;
  /** False when there is no such response. */
  delete(callerId: string, id: string): Promise<boolean>;
  /** Of a key also those of its people. */
  deleteAllOf(callerId: string): Promise<void>;
  /** Deletes responses that are too old. */
  prune(): Promise<void>;
}
