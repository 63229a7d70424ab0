import type { Caller } from '../../../../core/callers/caller.ts';
import type { ChatEvent } from '../../../../core/chat/chat.ts';
import type { ResponseStore, StoredResponse } from '../../../../core/stores/response-store.ts';
import type { StartedRun } from '../../../../runs/started-run.ts';
import type { JsonObject } from '../../../../shared/json/json.ts';
import { hasMoreTextThan } from '../../../../shared/text/text-length.ts';
import { notStoredFor } from '../../answers/not-stored.ts';
import { AnswerSaver, BoundedCollector, storedAnswerCharacters, warnTooLarge } from '../../answers/store-answer.ts';
import type { ResponseCollector, ResponseFormat } from '../response-wire.ts';
import type { StoredRequest } from './prepare-request.ts';
import { idOf, withoutMedia } from './stored-items.ts';

export type StorageLog = Record<'info' | 'warn' | 'error', (fields: object, message: string) => void>;

interface ResponseSaverOptions {
  store: Pick<ResponseStore, 'add'>;
  /** Milliseconds since 1970. */
  now: () => number;
  log: StorageLog;
}

/** The answer to one request that is stored. */
export interface AnswerToStore {
  caller: Caller;
  request: StoredRequest;
  format: ResponseFormat;
  model: string;
}

export interface ResponseSaver {
  /** The run, whose answer is stored before its end is sent, and ends with what `save` returns. Answers that fail or are cut off are not stored. */
  storing(started: StartedRun, answer: AnswerToStore): StartedRun;
  /** Stores a whole response. Never rejects. Returns a warning for its client if it could not be stored. */
  save(response: JsonObject, answer: Pick<AnswerToStore, 'caller' | 'request'>): Promise<ChatEvent | undefined>;
  /** Resolves when everything so far is durable. */
  settled(): Promise<void>;
}

export function createResponseSaver({ store, now, log }: ResponseSaverOptions): ResponseSaver {
  const saver = new AnswerSaver();

  async function add(response: JsonObject, { caller, request }: Pick<AnswerToStore, 'caller' | 'request'>): Promise<ChatEvent | undefined> {
    const stored = withinBounds({ ...toStored(response, { caller, request }), created: now(), isRunning: false });
    if (stored === undefined) return warnTooLarge(log, { response_id: idOf(response) }, 'a response');
    try {
      await store.add(stored);
      return undefined;
    } catch (error) {
      log.error({ err: error, response_id: stored.id }, 'a response could not be stored');
      return notStoredFor(error);
    }
  }

  return {
    save: (response, answer) => saver.save(() => add(response, answer)),
    storing(started, answer) {
      const created = started.created ?? Math.floor(now() / 1000);
      const { runId, thoughts } = started.run;
      const bounded = boundedResponse(answer.format.collect({ runId, created, now, model: answer.model, thoughts }));
      return saver.storing({ ...started, created }, bounded, async () =>
        bounded.isTooLarge
          ? warnTooLarge(log, { response_id: idOf(bounded.collector.begun()) }, 'a response')
          : add(bounded.collector.body(), answer),
      );
    },
    settled: () => saver.settled(),
  };
}

export function boundedResponse(collector: ResponseCollector): BoundedCollector<ResponseCollector> {
  return new BoundedCollector(collector, charactersOf);
}

function charactersOf(event: ChatEvent): number {
  if (event.type === 'text' || event.type === 'reasoning') return event.text.length;
  // Other events of a run add little or nothing to the answer.
  if (event.type === 'run-event' && event.event.type !== 'tool.result' && event.event.type !== 'tool.call') return 0;
  return JSON.stringify(event).length;
}

export function toStored(
  response: JsonObject,
  { caller, request }: Pick<AnswerToStore, 'caller' | 'request'>,
): Omit<StoredResponse, 'created' | 'isRunning'> {
  const { previousId, input } = request;
  return { id: idOf(response), callerId: caller.id, previousId, input, response };
}

/** Without images and files where it is too large; undefined if its texts alone are. */
export function withinBounds(stored: StoredResponse): StoredResponse | undefined {
  if (isWithinBounds(stored)) return stored;
  const smaller = { ...stored, input: withoutMedia(stored.input) };
  return isWithinBounds(smaller) ? smaller : undefined;
}

/** The largest requests are five times as large, and serializing them would hold up the gateway. */
function isWithinBounds({ input, response }: StoredResponse): boolean {
  const most = storedAnswerCharacters;
  if (hasMoreTextThan([input, response], most)) return false;
  return JSON.stringify(input).length + JSON.stringify(response).length <= most;
}
