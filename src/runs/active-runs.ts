import type { DecidedCall, FailedRun, RunProgress, RunSuspension, RunSuspensions, WaitingRun } from '../core/runs/suspended-run.ts';
import type { Caller } from '../core/callers/caller.ts';
import type { ChatMessage, ChatRequest } from '../core/chat/chat.ts';
import { GatewayError } from '../core/errors.ts';
import type { LoggedRun, RunLog, RunRecorder } from '../core/runs/run-log.ts';
import { conversationOf } from '../core/runs/run.ts';
import { forAnotherModel } from '../chat/messages/round-messages.ts';
import type { FailedRuns } from '../chat/suspend/failed-runs.ts';
import type { RunRepeat } from '../core/runs/run-repeat.ts';
import { requireBoundedCalls } from './require-bounded-calls.ts';
import { requireModels } from './require-models.ts';
import { limits } from '../core/limits.ts';
import { isWithin } from '../core/callers/people.ts';
import { Drain } from './drain.ts';
import { describeEndOfAccess, type EndOfAccess } from './end-of-access.ts';
import { mostHeldCharacters } from './held-requests.ts';
import { launchRun, type LaunchServices, type RunToLaunch } from './launch-run.ts';
import { RunningRuns, type RunningRun } from './running-runs.ts';
import type { RunStage, RunStarter, StartedRun } from './started-run.ts';

/**
 * Starts and logs runs, and keeps track of the active ones: they can be cancelled, end with their caller's key, and a shutdown waits for them
 * before it ends them with an error.
 */
export interface ActiveRuns {
  /**
   * Aborting the controller ends the run. Every started run has to be streamed. `behind`: the failed run that it continues, which its caller has claimed.
   * @throws GatewayError `server_shutting_down`, `invalid_api_key` when the key was deleted, `model_not_found` when the key may not use it.
   */
  start: (request: ChatRequest, who: RunStarter, behind?: FailedRun) => StartedRun;
  /** The requests of this caller that are answered now. */
  requestsOf: (callerId: string) => ChatRequest[];
  /** Resumes a suspended run, under its id, for the caller who decided. @throws GatewayError as `start` */
  resume: (run: WaitingRun, decided: readonly DecidedCall[], who: RunStarter) => Promise<StartedRun>;
  /**
   * Counts the memory of a request that waits to begin, until the function is called that this returns. `size` is from `weigh`. Aborting the controller
   * has to end the wait. @throws GatewayError `overloaded`
   */
  holdWaiting: (request: { callerId: string; size: number; controller: AbortController }) => () => void;
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
   * Ends every run of this key and its people, or of this caller, with `run_cancelled`; after the deletion of the key no new ones start. Resolves when
   * they have ended, or after `limits.interruptMs`.
   */
  cancelAllOf: (ownerId: string, cause: EndOfAccess) => Promise<void>;
  /** Admits no new runs, and resolves when the active ones have ended. After `timeoutMs` the rest is aborted. */
  drain(timeoutMs: number): Promise<void>;
  isDraining(): boolean;
}

export interface ActiveRunsOptions extends LaunchServices {
  newRunId: () => string;
  log: Pick<RunLog, 'begin' | 'resume' | 'find'>;
  /** Absent: no run can be suspended for an approval. */
  suspensions?: RunSuspensions;
  /** Absent: no run that fails can be continued. */
  failedRuns?: Pick<FailedRuns, 'begin'>;
  /** The request as it is run. @throws GatewayError `invalid_request` */
  acceptRequest?: (request: ChatRequest) => ChatRequest;
  /** All that gets the events of each run besides its client, innermost first. */
  stages?: readonly RunStage[];
  /** For all active runs together. Default: `mostHeldCharacters`. */
  heldCharacters?: number;
}

export function createActiveRuns(options: ActiveRunsOptions): ActiveRuns {
  const {
    newRunId,
    log,
    suspensions,
    failedRuns,
    acceptRequest = (request) => request,
    stages = [],
    heldCharacters = mostHeldCharacters,
  } = options;
  const running = new RunningRuns(heldCharacters);
  const drain = new Drain(
    () => running.count,
    (reason) => running.abort(() => true, reason),
  );

  function requireReady(caller: Caller, request: Pick<ChatRequest, 'model' | 'parameters'>): void {
    drain.requireOpen(caller.id);
    requireModels(caller, request);
  }

  function onEnd(entry: RunningRun): void {
    running.end(entry);
    drain.noteEnd();
  }

  function launch(run: RunToLaunch): StartedRun {
    const { entry, started } = launchRun(run, options, { onEnd, hold: (held, characters) => running.hold(held, characters) });
    running.add(entry);
    return stages.reduce((staged, stage) => stage(staged, run), started);
  }

  /** What a resumed run continues with. If this throws, the run is stored again, so that sending the decision once more resumes it. */
  async function prepareResumed(
    run: WaitingRun,
    decided: readonly DecidedCall[],
    caller: Caller,
  ): Promise<{ recorder: RunRecorder; logged: LoggedRun | undefined; size: number }> {
    const { id: runId, model, request } = run;
    let recorder: RunRecorder | undefined;
    try {
      requireReady(caller, request);
      recorder = await log.resume(runId);
      const logged = await log.find(runId);
      if (recorder === undefined && logged?.status === 'cancelled')
        throw new GatewayError('run_cancelled', 'The run was cancelled before it was resumed.');
      recorder ??= log.begin({ id: runId, callerId: caller.id, model, mode: request.mode });
      // A shutdown may have begun meanwhile.
      requireReady(caller, request);
      return { recorder, logged, size: running.requireRoom(request, caller) };
    } catch (error) {
      if (error instanceof GatewayError && error.code === 'run_cancelled') throw error;
      recorder?.end({ status: 'waiting' });
      const { sources, transcript = [] } = run;
      await suspensions?.resume(run, decided, { caller, sources, transcript }).keepForRetry();
      throw error;
    }
  }

  return {
    start(sent, who, behind) {
      const request = acceptRequest(sent);
      const { caller } = who;
      requireReady(caller, request);
      requireBoundedCalls(request.messages);
      const size = running.requireRoom(request, caller);
      const { model, mode } = request;
      const runId = newRunId();
      const recorder = log.begin({ id: runId, callerId: caller.id, model, mode });
      // Only an answer over HTTP can carry approval tokens.
      const suspensionWith = (progress: RunProgress): RunSuspension | undefined =>
        request.reply === undefined ? undefined : suspensions?.begin({ id: runId, caller, request, ...progress });
      const repeatWith = (progress: RunProgress): RunRepeat | undefined =>
        failedRuns?.begin({ id: runId, caller, request, ...progress }, behind);
      const transcript = [...(behind?.transcript ?? [])];
      const answered = behind === undefined ? request : answeredBehind(behind, request);
      return launch({ runId, request: answered, asked: request, who, recorder, transcript, suspensionWith, repeatWith, size, model });
    },
    async resume(run, decided, who) {
      const { caller } = who;
      const { recorder, logged, size } = await prepareResumed(run, decided, caller);
      return launch({
        runId: run.id,
        request: run.request,
        who: { ...who, address: undefined },
        resumed: { run, decided },
        recorder,
        size,
        model: run.model,
        earlier: logged?.events,
        transcript: [...(run.transcript ?? [])],
        suspensionWith: (progress) => suspensions?.resume(run, decided, { caller, ...progress }),
      });
    },
    requireReady,
    requestsOf: (callerId) => running.requestsOf(callerId),
    holdWaiting: (request) => running.holdWaiting(request),
    whenOver: (runId, timeoutMs) => running.whenOver(runId, timeoutMs),
    countRunning: () => running.count,
    cancel(runId, caller) {
      const run = running.find(runId, caller);
      run?.controller.abort(wasCancelled());
      return run !== undefined;
    },
    async interrupt(conversation, caller) {
      const found = running.abort(
        ({ callerId, request }) => callerId === caller.id && conversationOf(request) === conversation && request.purpose !== 'task',
        new GatewayError('run_cancelled', 'The run was cancelled because a later message interrupts it.'),
      );
      const ended = await Promise.all(found.map(({ id }) => running.whenOver(id, limits.interruptMs)));
      if (ended.includes(false)) throw stillRunning();
      const roundsIn = (transcript: readonly ChatMessage[]): ChatMessage[] =>
        transcript.slice(0, transcript.findLastIndex(({ role }) => role === 'tool') + 1);
      return forAnotherModel(found.flatMap(({ transcript }) => roundsIn(transcript)));
    },
    cancelSession(sessionId, caller) {
      running.abort(
        ({ callerId, request }) => callerId === caller.id && request.sessionId === sessionId && request.reply === undefined,
        wasCancelled(),
      );
    },
    cancelCall: (runId, callId, caller) => running.find(runId, caller)?.calls.cancel(callId) ?? false,
    async cancelAllOf(ownerId, cause) {
      if (cause === 'deleted') drain.closeTo(ownerId);
      const message = `The run was cancelled because ${describeEndOfAccess(cause, 'the key it was started with')}.`;
      const found = running.abort(({ callerId }) => isWithin(callerId, ownerId), new GatewayError('run_cancelled', message));
      await Promise.all(found.map(({ id }) => running.whenOver(id, limits.interruptMs)));
    },
    isDraining: () => drain.isDraining,
    drain: (timeoutMs) => drain.run(timeoutMs, 'The gateway was shut down before this answer was complete.'),
  };
}

/** The request as the failed run answered it (perhaps after a handoff), with the fields that belong to this answer. */
function answeredBehind({ request }: FailedRun, { stream, reply, messageId, sessionId, store, warnings }: ChatRequest): ChatRequest {
  const { store: _store, warnings: _warnings, ...answered } = request;
  const own = { ...(reply && { reply }), ...(store && { store }), ...(warnings && { warnings }) };
  return { ...answered, stream, messageId, sessionId, ...own };
}

/** For a message with `interrupt`. */
export function stillRunning(): GatewayError {
  return new GatewayError('conflict', 'The chat was cancelled, but its functions have not ended yet. Send the message again in a moment.');
}

function wasCancelled(): GatewayError {
  return new GatewayError('run_cancelled', 'The run was cancelled.');
}
