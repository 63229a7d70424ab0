import type { DecidedCall, RunProgress, RunSuspension, RunSuspensions, WaitingRun } from '../core/runs/suspended-run.ts';
import type { Caller } from '../core/callers/caller.ts';
import type { ChatEvent, ChatMessage, ChatRequest, Source } from '../core/chat/chat.ts';
import { GatewayError } from '../core/errors.ts';
import type { Metrics } from '../core/runs/metrics.ts';
import type { LoggedRun, RunEnding, RunLog, RunRecorder } from '../core/runs/run-log.ts';
import type { RunEvent } from '../core/runs/run-event.ts';
import type { Emit } from '../shared/emit.ts';
import { SlotTable } from '../shared/slot-table.ts';
import { conversationOf } from '../core/runs/run.ts';
import type { RunContext } from '../core/runs/run.ts';
import { forAnotherModel } from '../chat/messages/round-messages.ts';
import { runAsPreset } from '../chat/loop/run-as-preset.ts';
import type { PresetServices } from '../chat/loop/run-as-preset.ts';
import { isCancelled, keepFailedRun } from '../chat/suspend/keep-failed-run.ts';
import { requireBoundedCalls } from './require-bounded-calls.ts';
import { requireModels } from './require-models.ts';
import { createCancellableCalls } from './cancellable-calls.ts';
import type { CancellableCalls } from './cancellable-calls.ts';
import { limits } from '../core/limits.ts';
import { makeRoom, mostHeldCharacters, sizeOf } from './held-requests.ts';
import type { HeldRequest } from './held-requests.ts';
import type { ReadRequestHeader } from '../core/chat/request-headers.ts';
import { isWithin } from '../core/callers/people.ts';
import { Drain } from './drain.ts';
import { RunStats } from './run-stats.ts';
import { endingOf, reportRun } from './report-run.ts';
import type { RunObserver } from './report-run.ts';

/** A run that is registered and can be streamed. */
export interface StartedRun {
  run: RunContext;
  /** Starts the work; to be called once. Resolves at the end of the run, and rejects with the error that ends it. */
  stream: (emit: Emit<ChatEvent>) => Promise<void>;
  stats: RunStats;
  /** Seconds since 1970; the time under which the answer is stored. Default: now. */
  created?: number;
}

/**
 * Starts and logs runs, and keeps track of the active ones: they can be cancelled, end with their caller's key, and a shutdown waits for them
 * before it ends them with an error.
 */
export interface ActiveRuns {
  /**
   * Aborting the controller ends the run. Every started run has to be streamed.
   * @throws GatewayError `server_shutting_down`, `invalid_api_key` when the key was deleted, `model_not_found` when the key may not use it.
   */
  start: (request: ChatRequest, who: RunStarter) => StartedRun;
  /** Resumes a suspended run, under its id, for the caller who decided. @throws GatewayError as `start` */
  resume: (run: WaitingRun, decided: readonly DecidedCall[], who: RunStarter) => Promise<StartedRun>;
  /** Checks what `start` checks. @throws GatewayError as `start` */
  requireReady: (caller: Caller, request: Pick<ChatRequest, 'model' | 'parameters'>) => void;
  /** Resolves with true when no run of this id is active, or with false after `timeoutMs`. */
  whenOver: (runId: string, timeoutMs: number) => Promise<boolean>;
  countRunning(): number;
  /** Ends a run with `run_cancelled`; false when no active run of that id is visible to this caller. */
  cancel: (runId: string, caller: Caller) => boolean;
  /** Ends the runs of this caller whose answers go to this websocket session with `run_cancelled`; not those that only send it their events. */
  cancelSession: (sessionId: string, caller: Caller) => void;
  /**
   * Ends the runs of this caller's conversation (`conversationOf`) with `run_cancelled`, hidden tasks excepted. Resolves when they have ended, critical sections included,
   * with what their calls have done: whole rounds, as far as it is known.
   * @throws GatewayError `conflict` if one does not end in time
   */
  interrupt: (conversation: string, caller: Caller) => Promise<ChatMessage[]>;
  /** Cancels a single call; its run continues with the result `tool_cancelled`. False when no active call of that id is visible to this caller. */
  cancelCall: (runId: string, callId: string, caller: Caller) => boolean;
  /**
   * Ends every run of this key and its people, or of this caller, with `run_cancelled`; new ones may start. Resolves when they have ended, or after
   * `limits.interruptMs`.
   */
  cancelEvery: (ownerId: string, message: string) => Promise<void>;
  /** To be called when the key was deleted: as `cancelEvery`, and admits no new runs of the key and its people. */
  cancelAllOf: (keyId: string) => Promise<void>;
  /** Admits no new runs, and resolves when the active ones have ended. After `timeoutMs` the rest is aborted. */
  drain(timeoutMs: number): Promise<void>;
  isDraining(): boolean;
}

export interface ActiveRunsOptions {
  services: PresetServices;
  newRunId: () => string;
  log: Pick<RunLog, 'begin' | 'resume' | 'find'>;
  /** Absent: no run can be suspended for an approval. */
  suspensions?: RunSuspensions;
  /** Sends the events of an HTTP chat to the websocket session that it names. */
  sessionEvents?: SessionEvents;
  metrics?: Metrics;
  /** For the requests of all runs under way. Default: `mostHeldCharacters`. */
  heldCharacters?: number;
}

/** Who starts or resumes a run. */
export interface RunStarter {
  caller: Caller;
  controller: AbortController;
  /** Of the request that does. It is not kept with a run that waits. */
  readHeader?: ReadRequestHeader | undefined;
  /** Where people reach the gateway, for links; absent where the chat request says so (`reply`). */
  address?: (() => string | undefined) | undefined;
}

/** Forwards the events of one run to the session that its chat names. Neither function throws or waits. */
interface SessionFeed {
  send(event: RunEvent): void;
  /** Sends `run.end` for a run that failed or was cancelled, which has not emitted it itself. */
  end(ending: RunEnding): void;
}

/** Forwards the events of HTTP chats to the websocket session that they name, as frames `event`. */
export interface SessionEvents {
  /** Undefined for a chat without a session. */
  open(run: Pick<RunContext, 'runId' | 'caller' | 'chatId' | 'messageId' | 'sessionId'>): SessionFeed | undefined;
}

interface RunningRun extends HeldRequest {
  request: ChatRequest;
  transcript: readonly ChatMessage[];
  calls: CancellableCalls;
  end: RunEnd;
}

export function createActiveRuns({
  services,
  newRunId,
  log,
  suspensions,
  sessionEvents,
  metrics,
  heldCharacters = mostHeldCharacters,
}: ActiveRunsOptions): ActiveRuns {
  const running = new SlotTable<RunningRun>();
  let heldSum = 0;
  const drain = new Drain(
    () => running.size,
    (reason) => {
      for (const { controller } of running.values()) controller.abort(reason);
    },
  );

  function findAllowed(runId: string, caller: Caller): RunningRun | undefined {
    const run = running.get(runId);
    return run !== undefined && mayAccess(run, caller) ? run : undefined;
  }

  async function cancelEvery(ownerId: string, message: string): Promise<void> {
    const reason = new GatewayError('run_cancelled', message);
    const found = running.entries().filter(([, { callerId }]) => isWithin(callerId, ownerId));
    for (const [, { controller }] of found) controller.abort(reason);
    await Promise.all(found.map(([runId]) => whenOver(runId, limits.interruptMs)));
  }

  function requireReady(caller: Caller, request: Pick<ChatRequest, 'model' | 'parameters'>): void {
    drain.requireOpen(caller.id);
    requireModels(caller, request);
  }

  /** The size of the request. @throws GatewayError `overloaded` */
  function requireRoom(request: ChatRequest, caller: Caller): number {
    const size = sizeOf(request);
    if (heldSum + size <= heldCharacters) return size;
    const before = running.values();
    makeRoom(before, { callerId: caller.id, size }, heldCharacters);
    heldSum = before.reduce((sum, entry) => sum + entry.size, 0);
    return size;
  }

  async function whenOver(runId: string, timeoutMs: number): Promise<boolean> {
    const run = running.get(runId);
    if (run === undefined) return true;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => resolve(false), timeoutMs);
    run.end.whenOver(() => resolve(true));
    const isOver = await promise;
    clearTimeout(timer);
    return isOver;
  }

  interface RunStart extends RunStarter {
    runId: string;
    recorder: RunRecorder;
    /** Of a resumed run: what it has added to the conversation before. */
    transcript: ChatMessage[];
    suspensionWith: (progress: RunProgress) => RunSuspension | undefined;
    /** As the client's request named it; `request` may name a preset that the run was handed off to. */
    model: string;
    /** Of the request, from `sizeOf`. */
    size: number;
    /** Of a resumed run: what its log has from before. */
    earlier?: readonly RunEvent[] | undefined;
  }

  function launch(request: ChatRequest, start: RunStart): StartedRun {
    const { runId, caller, controller, readHeader, recorder, transcript, suspensionWith, model, earlier } = start;
    const { address = () => request.reply?.address } = start;
    const { chatId, conversationId, messageId, sessionId } = request;
    const calls = createCancellableCalls();
    const end = new RunEnd();
    const sources: Source[] = [];
    const suspension = suspensionWith({ sources, transcript });
    const stats = new RunStats({ now: services.now, caller, model, metrics, earlier });
    const modelRequests = stats.counting(recorder.modelRequests);
    const ids = { runId, chatId, messageId, sessionId, model, ...(conversationId !== undefined && { conversationId }) };
    const whenOver = end.whenOver;
    const { signal } = controller;
    const run: RunContext = { ...ids, address, caller, readHeader, signal, calls, whenOver, suspension, transcript, modelRequests };
    const entry: RunningRun = { id: runId, callerId: caller.id, size: start.size, request, transcript, controller, calls, end };
    running.set(runId, entry);
    heldSum += entry.size;
    function finish(): void {
      heldSum -= entry.size;
      running.delete(runId);
      end.reach();
      drain.noteEnd();
    }
    // Chats over a socket (without `reply`) send their events there themselves.
    const session = request.reply === undefined ? undefined : sessionEvents?.open(run);
    const answer = (emit: Emit<ChatEvent>): Promise<void> => runAsPreset(request, { run, services }, emit);
    const observer: RunObserver = {
      onEvent(event) {
        recorder.record(event);
        stats.note(event);
        if (event.type === 'run-event') session?.send(event.event);
        if (event.type === 'source' && suspension !== undefined) sources.push(event.source);
      },
      onEnd(ending) {
        const isSuspended = suspension?.isSuspended === true;
        // Its approval tokens may have been sent already, so the suspended run must be closed before one can be used.
        const isAbandoned = isSuspended && isCancelled(controller.signal);
        const actual = isAbandoned ? endingOf(undefined, controller.signal) : ending;
        const logged: RunEnding = isSuspended && !isAbandoned ? { status: 'waiting' } : actual;
        stats.end(logged);
        recorder.end(logged);
        session?.end(actual);
        if (isAbandoned) void suspension.abandon().then(finish);
        else finish();
      },
    };
    const stream = (emit: Emit<ChatEvent>): Promise<void> =>
      reportRun(
        suspension?.resumed === undefined
          ? answer
          : (passOn) => settling(suspension, keepFailedRun(answer, run, passOn), controller.signal),
        {
          signal: controller.signal,
          observer,
          emit,
        },
      );
    return { run, stats, stream };
  }

  return {
    start(request, { caller, controller, readHeader, address }) {
      requireReady(caller, request);
      requireBoundedCalls(request.messages);
      const size = requireRoom(request, caller);
      const { model, mode } = request;
      const runId = newRunId();
      const recorder = log.begin({ id: runId, callerId: caller.id, model, mode });
      // Only an answer over HTTP can carry approval tokens.
      const suspensionWith = (progress: RunProgress): RunSuspension | undefined =>
        request.reply === undefined ? undefined : suspensions?.begin({ id: runId, caller, request, ...progress });
      return launch(request, { runId, caller, controller, readHeader, address, recorder, transcript: [], suspensionWith, size, model });
    },
    async resume(run, decided, { caller, controller, readHeader }) {
      const { id: runId, model, request } = run;
      let recorder: RunRecorder | undefined;
      let logged: LoggedRun | undefined;
      let size = 0;
      try {
        requireReady(caller, request);
        recorder = await log.resume(runId);
        logged = await log.find(runId);
        if (recorder === undefined && logged?.status === 'cancelled')
          throw new GatewayError('run_cancelled', 'The run was cancelled before it was resumed.');
        recorder ??= log.begin({ id: runId, callerId: caller.id, model, mode: request.mode });
        // A shutdown may have begun meanwhile.
        requireReady(caller, request);
        size = requireRoom(request, caller);
      } catch (error) {
        if (error instanceof GatewayError && error.code === 'run_cancelled') throw error;
        // The decision is recorded and must not be lost: sending it again resumes the run.
        recorder?.end({ status: 'waiting' });
        const { sources, transcript = [] } = run;
        await suspensions?.resume(run, decided, { caller, sources, transcript }).keepForRetry();
        throw error;
      }
      return launch(request, {
        runId,
        caller,
        controller,
        readHeader,
        recorder,
        size,
        model,
        earlier: logged?.events,
        transcript: [...(run.transcript ?? [])],
        suspensionWith: (progress) => suspensions?.resume(run, decided, { caller, ...progress }),
      });
    },
    requireReady,
    whenOver,
    countRunning: () => running.size,
    cancel(runId, caller) {
      const run = findAllowed(runId, caller);
      run?.controller.abort(wasCancelled());
      return run !== undefined;
    },
    async interrupt(conversation, caller) {
      const found = running
        .entries()
        .filter(
          ([, { callerId, request }]) => callerId === caller.id && conversationOf(request) === conversation && request.purpose !== 'task',
        );
      const reason = new GatewayError('run_cancelled', 'The run was cancelled because a later message interrupts it.');
      for (const [, { controller }] of found) controller.abort(reason);
      const ended = await Promise.all(found.map(([runId]) => whenOver(runId, limits.interruptMs)));
      if (ended.includes(false)) throw stillRunning();
      const roundsIn = (transcript: readonly ChatMessage[]): ChatMessage[] =>
        transcript.slice(0, transcript.findLastIndex(({ role }) => role === 'tool') + 1);
      return forAnotherModel(found.flatMap(([, { transcript }]) => roundsIn(transcript)));
    },
    cancelSession(sessionId, caller) {
      for (const { callerId, request, controller } of running.values())
        if (callerId === caller.id && request.sessionId === sessionId && request.reply === undefined) controller.abort(wasCancelled());
    },
    cancelCall: (runId, callId, caller) => findAllowed(runId, caller)?.calls.cancel(callId) ?? false,
    cancelEvery,
    cancelAllOf(keyId) {
      drain.closeTo(keyId);
      return cancelEvery(keyId, 'The run was cancelled because the key it was started with was deleted.');
    },
    isDraining: () => drain.isDraining,
    drain: (timeoutMs) => drain.run(timeoutMs, 'The gateway was shut down before this answer was complete.'),
  };
}

/** For a message with `interrupt`. */
export function stillRunning(): GatewayError {
  return new GatewayError('conflict', 'The chat was cancelled, but its functions have not ended yet. Send the message again in a moment.');
}

function wasCancelled(): GatewayError {
  return new GatewayError('run_cancelled', 'The run was cancelled.');
}

/** What a resumed run has done is stored before its end is reported, because the chat may go on at once. */
async function settling(suspension: RunSuspension, answered: Promise<void>, signal: AbortSignal): Promise<void> {
  let isAnswered = false;
  try {
    await answered;
    isAnswered = true;
  } finally {
    await suspension.settle(isAnswered ? 'answered' : isCancelled(signal) ? 'cancelled' : 'failed');
  }
}

/** Notifies callbacks of the end of one run. An `AbortController` would be more expensive than logging the whole run. */
export class RunEnd {
  #callbacks: (() => void)[] | undefined = [];

  /** `callback` must not throw; it is called at once if the run has ended already. */
  readonly whenOver = (callback: () => void): void => {
    if (this.#callbacks === undefined) callback();
    else this.#callbacks.push(callback);
  };

  reach(): void {
    const callbacks = this.#callbacks ?? [];
    this.#callbacks = undefined;
    for (const callback of callbacks) callback();
  }
}

/** Whether this caller may see and cancel a run; to any other caller it does not exist. */
export function mayAccess({ callerId }: { callerId: string }, caller: Caller): boolean {
  return callerId === caller.id || caller.role === 'admin';
}
