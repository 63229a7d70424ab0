import type { Caller } from '../../../../core/callers/caller.ts';
import type { ChatEvent } from '../../../../core/chat/chat.ts';
import type { ResponseStore, StoredResponse } from '../../../../core/stores/response-store.ts';
import type { StartedRun } from '../../../../runs/active-runs.ts';
import type { JsonObject } from '../../../../shared/json.ts';
import { hasMoreTextThan } from '../../../../shared/text-length.ts';
import { notStored, notStoredFor } from '../../answers/not-stored.ts';
import type { ResponseCollector, ResponseFormat } from '../response-wire.ts';
import type { StoredRequest } from './prepare-request.ts';
import { idOf, withoutMedia } from './stored-items.ts';

/** One response with the input of its request, as JSON. If it is larger, images and files are left out; if its texts alone are larger, it is not stored. */
export const storedResponseCharacters = 2 * 1024 * 1024;

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
  storing(started: StartedRun, answer: AnswerToStore, signal: AbortSignal): StartedRun;
  /** Stores a whole response. Never rejects. Returns what its client has to know if it could not be stored. */
  save(response: JsonObject, answer: Pick<AnswerToStore, 'caller' | 'request'>): Promise<ChatEvent | undefined>;
  /** Resolves when everything so far is durable. */
  settled(): Promise<void>;
}

export function createResponseSaver({ store, now, log }: ResponseSaverOptions): ResponseSaver {
  const saving = new Set<Promise<ChatEvent | undefined>>();

  async function add(response: JsonObject, { caller, request }: Pick<AnswerToStore, 'caller' | 'request'>): Promise<ChatEvent | undefined> {
    const stored = withinBounds({ ...toStored(response, { caller, request }), created: now(), isRunning: false });
    if (stored === undefined) return warnTooLarge(log, idOf(response));
    try {
      await store.add(stored);
      return undefined;
    } catch (error) {
      log.error({ err: error, response_id: stored.id }, 'a response could not be stored');
      return notStoredFor(error);
    }
  }

  const save: ResponseSaver['save'] = async (response, answer) => {
    const saved = add(response, answer);
    saving.add(saved);
    const problem = await saved;
    saving.delete(saved);
    return problem;
  };

  return {
    save,
    storing(started, answer, signal) {
      const created = started.created ?? Math.floor(now() / 1000);
      const bounded = boundedCollector(answer.format.collect({ runId: started.run.runId, created, model: answer.model }));
      return {
        ...started,
        created,
        async stream(emit) {
          await started.stream((events) => {
            bounded.add(events);
            return emit(events);
          });
          if (signal.aborted) return;
          const problem = bounded.isTooLarge()
            ? warnTooLarge(log, idOf(bounded.collector.begun()))
            : await save(bounded.collector.body(), answer);
          if (problem !== undefined) await emit([problem]);
        },
      };
    },
    async settled() {
      await Promise.all(saving);
    },
  };
}

/** Collects no more than can be stored. */
export function boundedCollector(collector: ResponseCollector): {
  collector: ResponseCollector;
  add: (events: readonly ChatEvent[]) => void;
  isTooLarge: () => boolean;
} {
  let characters = 0;
  const isTooLarge = (): boolean => characters > storedResponseCharacters;
  return {
    collector,
    isTooLarge,
    add(events) {
      for (const event of events) {
        characters += charactersOf(event);
        if (!isTooLarge()) collector.add(event);
      }
    },
  };
}

function charactersOf(event: ChatEvent): number {
  if (event.type === 'text' || event.type === 'reasoning') return event.text.length;
  // Of a run's other events, the answer has little or nothing.
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
  const most = storedResponseCharacters;
  if (hasMoreTextThan([input, response], most)) return false;
  return JSON.stringify(input).length + JSON.stringify(response).length <= most;
}

function warnTooLarge(log: StorageLog, id: string): ChatEvent {
  const why = `it is larger than ${storedResponseCharacters} characters`;
  log.warn({ response_id: id }, `a response was not stored: ${why}`);
  return notStored(why);
}
