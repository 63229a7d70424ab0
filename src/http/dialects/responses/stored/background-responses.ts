import { loggedCaller, type Caller } from '../../../../core/callers/caller.ts';
import type { ChatEvent } from '../../../../core/chat/chat.ts';
import { GatewayError, invalidField } from '../../../../core/errors.ts';
import { keyIdOf } from '../../../../core/callers/people.ts';
import { errorThatEnded } from '../../../../core/runs/end-cause.ts';
import type { Release } from '../../../../core/callers/rate-limit.ts';
import type { ResponseStore, StoredResponse } from '../../../../core/stores/response-store.ts';
import type { StartedRun } from '../../../../runs/started-run.ts';
import { logChat } from '../../../../runs/run-stats.ts';
import { FairMap } from '../../../../shared/fairness/fair-map.ts';
import type { JsonObject } from '../../../../shared/json/json.ts';
import type { StreamEncoder } from '../../answers/answer-format.ts';
import { errorOfRun } from '../../answers/error-of-run.ts';
import { notStored } from '../../answers/not-stored.ts';
import { storedAnswerCharacters, tooLargeToStore } from '../../answers/store-answer.ts';
import { EventLog } from './event-log.ts';
import { createEndStorage, responseTooLarge } from './store-end.ts';
import { boundedResponse, toStored, withinBounds, type AnswerToStore, type StorageLog } from './store-answers.ts';

/** Responses of one caller that run in the background at the same time; more is a loop in a program. */
export const backgroundResponsesPerCaller = 64;
/** The same for a key with all its people; each response has its answer in memory. */
export const backgroundResponsesPerKey = 256;
/** Events of all responses that stream in the background, in memory, for readers that come back: ten thousand pages. The caller with the most loses the oldest. */
const backgroundEventsCharacters = 64 * 1024 * 1024;
/** How long these are there after the end of a response; later readers get its last event. */
const backgroundEventsMs = 5 * 60 * 1000;

interface BackgroundOptions {
  store: Pick<ResponseStore, 'add' | 'replaceRunning'>;
  /** Milliseconds since 1970. */
  now: () => number;
  log: StorageLog;
  /** Resolves after some milliseconds, or rejects when the signal aborts. Default: a timer. */
  pause?: ((milliseconds: number, signal: AbortSignal) => Promise<void>) | undefined;
}

interface BackgroundAnswer {
  /** The response when it began. */
  response: JsonObject;
  /** Present if the request asked for a stream. */
  events?: EventLog;
}

/** Responses that run without their clients, and are stored from their beginning. */
export interface BackgroundResponses {
  /** @throws GatewayError `rate_limit_exceeded` when the caller, or its key with all its people, has as many as it may */
  requireRoom(caller: Caller): void;
  /**
   * Resolves when the run has begun; it continues afterwards. `controller`: that of the run. `release` is called at its end.
   * @throws what ended the run before its first event, such as GatewayError `model_not_found`; GatewayError `storage_unavailable`
   */
  begin(
    started: StartedRun,
    answer: AnswerToStore,
    how: { stream: boolean; controller: AbortController; release: Release },
  ): Promise<BackgroundAnswer>;
  isRunning: (caller: Caller, id: string) => boolean;
  /** The events of a response that runs, or ended a few minutes ago. */
  eventsOf(caller: Caller, id: string): EventLog | undefined;
  /** Ends a response as cancelled. Resolves when that is durable, or at once if it does not run. */
  cancel(caller: Caller, id: string): Promise<void>;
  /** To be called when no run is active any more: ends those whose runs ignored their signals. Resolves when everything is durable. */
  settle(): Promise<void>;
}

interface Running {
  answer: AnswerToStore;
  started: StartedRun;
  controller: AbortController;
  bounded: ReturnType<typeof boundedResponse>;
  stored: StoredResponse;
  events: EventLog | undefined;
  encoder: StreamEncoder | undefined;
  /** Resolves when it is stored, which it is once its run has begun. */
  begun: PromiseWithResolvers<void>;
  isStored: boolean;
  /** Set when it is first ended; resolves with a warning for its clients if the end could not be stored. */
  ending?: Promise<ChatEvent | undefined>;
}

export function createBackgroundResponses({ store, now, log, pause }: BackgroundOptions): BackgroundResponses {
  const closing = new AbortController();
  const storeEnd = createEndStorage({ store, log, pause, closing: closing.signal });
  const running = new Map<string, Running>();
  const logs = new Map<string, { callerId: string; events: EventLog }>();
  const memory = new FairMap<string>({ entries: Infinity, characters: backgroundEventsCharacters });

  function find({ id: callerId }: Caller, id: string): Running | undefined {
    const found = running.get(id);
    return found?.answer.caller.id === callerId ? found : undefined;
  }

  /** The first end counts. Never rejects. */
  function end(each: Running, response: JsonObject): Promise<ChatEvent | undefined> {
    each.ending ??= storeEnd(each.stored, response).finally(() => running.delete(each.stored.id));
    return each.ending;
  }

  async function keep(each: Running): Promise<void> {
    const fitting = withinBounds(each.stored);
    if (fitting === undefined) throw inputTooLarge();
    each.stored = fitting;
    await store.add(fitting);
    each.isStored = true;
    if (each.events !== undefined) logs.set(fitting.id, { callerId: fitting.callerId, events: each.events });
    each.begun.resolve();
  }

  async function run(each: Running): Promise<void> {
    const { started, controller, bounded, events, encoder, stored, answer } = each;
    let last: string | undefined;
    try {
      await started.stream((batch) => {
        bounded.add(batch);
        if (encoder !== undefined) events?.append(batch.map((event) => encoder.encode(event)).join(''));
        return each.isStored ? undefined : keep(each);
      });
      const isTooLarge = bounded.isTooLarge;
      const failure = await end(each, isTooLarge ? responseTooLarge(stored.response) : bounded.collector.body());
      const problem = failure ?? (isTooLarge ? notStored(tooLargeToStore) : undefined);
      if (encoder !== undefined) last = `${problem === undefined ? '' : encoder.encode(problem)}${encoder.end()}`;
    } catch (error) {
      if (!each.isStored) return refuse(each, errorThatEnded(error, controller.signal));
      const shown = errorOfRun(error, controller.signal, { id: started.run.runId, log });
      const problem = await end(each, bounded.collector.failure(shown));
      if (encoder !== undefined) last = `${problem === undefined ? '' : encoder.encode(problem)}${encoder.failure(shown)}`;
    }
    events?.append(last ?? '');
    events?.end();
    const {
      stats,
      run: { runId },
    } = started;
    const { caller, model } = answer;
    logChat(log, stats, { ...loggedCaller(caller), run_id: runId, model, stream: events !== undefined, over: 'background' });
    if (events !== undefined) setTimeout(() => forget(stored.id, events), backgroundEventsMs).unref();
  }

  function refuse({ stored, events, begun }: Running, reason: unknown): void {
    running.delete(stored.id);
    events?.forget();
    begun.reject(reason);
  }

  function forget(id: string, events: EventLog): void {
    logs.delete(id);
    events.forget();
  }

  return {
    requireRoom({ id: callerId }) {
      const ofKey = [...running.values()].filter(({ answer }) => keyIdOf(answer.caller.id) === keyIdOf(callerId));
      const own = ofKey.filter(({ answer }) => answer.caller.id === callerId);
      const isFull = own.length >= backgroundResponsesPerCaller;
      if (!isFull && ofKey.length < backgroundResponsesPerKey) return;
      const whose = isFull ? `${own.length} responses of yours` : `${ofKey.length} responses of all users of this key`;
      const problem = `background: ${whose} run in the background already.`;
      throw new GatewayError('rate_limit_exceeded', `${problem} Wait until one has ended, or cancel one.`, {
        param: 'background',
        retryAfter: '5',
      });
    },

    async begin(started, answer, { stream, controller, release }) {
      started.run.whenOver?.(release);
      const { caller, format, model } = answer;
      const time = now();
      const { runId, thoughts } = started.run;
      const head = { runId, created: started.created ?? Math.floor(time / 1000), now, model, thoughts };
      const bounded = boundedResponse(format.collect(head));
      const response = bounded.collector.begun();
      const stored = { ...toStored(response, answer), created: time, isRunning: true };
      const { id } = stored;
      const events = stream ? new EventLog(memory, { owner: caller.id, id }) : undefined;
      const encoder = stream ? format.stream(head) : undefined;
      const begun = Promise.withResolvers<void>();
      const each: Running = { answer, started, controller, bounded, stored, events, encoder, begun, isStored: false };
      running.set(id, each);
      void run(each);
      await begun.promise;
      return { response, ...(events !== undefined && { events }) };
    },

    isRunning: (caller, id) => find(caller, id) !== undefined,

    eventsOf({ id: callerId }, id) {
      const found = logs.get(id);
      return found?.callerId === callerId ? found.events : undefined;
    },

    async cancel(caller, id) {
      const found = find(caller, id);
      if (found === undefined) return;
      const reason = new GatewayError('run_cancelled', 'The response was cancelled.');
      const ended = end(found, found.bounded.collector.failure(reason));
      found.controller.abort(reason);
      await ended;
    },

    async settle() {
      closing.abort();
      const reason = new GatewayError(
        'server_shutting_down',
        'The gateway was shut down before this response was complete. Send the request again.',
      );
      await Promise.all(running.values().map((each) => end(each, each.bounded.collector.failure(reason))));
    },
  };
}

function inputTooLarge(): GatewayError {
  const most = `${storedAnswerCharacters} characters`;
  return invalidField('input', `only a response that is stored can run in the background, and the input has more than ${most}.`);
}
