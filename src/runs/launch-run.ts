import type { ChatEvent, ChatMessage, ChatRequest, Source } from '../core/chat/chat.ts';
import { endCauseOf, isEndedByGateway } from '../core/runs/end-cause.ts';
import type { Metrics } from '../core/runs/metrics.ts';
import type { Tracing } from '../core/runs/trace.ts';
import type { LoggedEvent, RunEnding, RunRecorder } from '../core/runs/run-log.ts';
import type { RunContext } from '../core/runs/run.ts';
import type { RunRepeat } from '../core/runs/run-repeat.ts';
import type { RunProgress, RunSuspension } from '../core/runs/suspended-run.ts';
import { runAsPreset, type PresetServices } from '../chat/loop/run-as-preset.ts';
import { RunThoughts } from '../chat/thoughts/run-thoughts.ts';
import { isCancelled, keepFailedRun } from '../chat/suspend/keep-failed-run.ts';
import type { Emit } from '../shared/async/emit.ts';
import { createCancellableCalls } from './cancellable-calls.ts';
import { endingOf, reportRun } from './report-run.ts';
import { RunEnd, type RunningRun } from './running-runs.ts';
import { RunStats } from './run-stats.ts';
import type { RunOrigin, SessionEvents, StartedRun } from './started-run.ts';

export interface RunToLaunch extends RunOrigin {
  runId: string;
  recorder: RunRecorder;
  /** What a resumed run has added to the conversation before. */
  transcript: ChatMessage[];
  suspensionWith: (progress: RunProgress) => RunSuspension | undefined;
  repeatWith?: (progress: RunProgress) => RunRepeat | undefined;
  /** As the client has sent it, if the run continues a failed one, whose request may have changed. */
  asked?: ChatRequest;
  /** As the client's request named it; `request` may name a preset that the run was handed off to. */
  model: string;
  /** The size of the request, from `sizeOf`. */
  size: number;
  /** The earlier events in the log of a resumed run. */
  earlier?: readonly LoggedEvent[] | undefined;
}

export interface LaunchServices {
  services: PresetServices;
  /** Sends the events of an HTTP chat to the websocket session that it names. */
  sessionEvents?: SessionEvents | undefined;
  metrics?: Metrics | undefined;
  tracing?: Tracing | undefined;
}

/** The table of active runs, which gets the entry that `launchRun` returns. */
interface RunTable {
  onEnd(entry: RunningRun): void;
  /** @throws GatewayError `overloaded` */
  hold(entry: RunningRun, characters: number): void;
}

/** Makes the run ready to be streamed. */
export function launchRun(
  { runId, request, asked = request, who, recorder, transcript, suspensionWith, repeatWith, model, size, earlier, resumed }: RunToLaunch,
  { services, sessionEvents, metrics, tracing }: LaunchServices,
  table: RunTable,
): { entry: RunningRun; started: StartedRun } {
  const { caller, controller, readHeader, address = () => request.reply?.address } = who;
  const { signal } = controller;
  const { chatId, conversationId, messageId, sessionId } = request;
  const calls = createCancellableCalls();
  const end = new RunEnd();
  const sources: Source[] = [];
  const suspension = suspensionWith({ sources, transcript });
  const repeat = repeatWith?.({ sources, transcript });
  const stats = new RunStats({ now: services.now, caller, model, metrics, earlier });
  const trace = tracing?.beginRun({ runId, chatId, model, messages: request.messages, readHeader, earlier });
  const modelRequests = stats.counting(trace === undefined ? recorder.modelRequests : trace.tracing(recorder.modelRequests));
  const thoughts = new RunThoughts(services.thoughtSeals, caller.id, model);
  const run: RunContext = {
    runId,
    chatId,
    conversationId,
    messageId,
    sessionId,
    model,
    address,
    caller,
    readHeader,
    signal,
    calls,
    whenOver: end.whenOver,
    suspension,
    repeat,
    transcript,
    trace,
    modelRequests,
    thoughts,
    hold: (characters) => table.hold(entry, characters),
  };
  const entry: RunningRun = { id: runId, callerId: caller.id, size, request: asked, transcript, controller, calls, end };
  // Chats over a socket (without `reply`) send their events there themselves.
  const session = request.reply === undefined ? undefined : sessionEvents?.open(run);

  function onEvent(event: ChatEvent): void {
    recorder.record(event);
    stats.note(event);
    if (event.type === 'run-event') {
      session?.send(event.event);
      trace?.note(event.event);
      thoughts.note(event.event);
    }
    if (event.type === 'source' && (suspension ?? repeat) !== undefined) sources.push(event.source);
  }

  function onFailure(error: unknown): Promise<void> | undefined {
    if (repeat === undefined || suspension?.isSuspended === true) return undefined;
    // Its tasks go on.
    if (isEndedByGateway(signal)) return repeat.keep();
    const cause = endCauseOf(error, signal);
    // Nobody repeats a request that they have cancelled or left.
    const mayComeAgain = cause.type === 'error' && cause.error.code !== 'run_cancelled';
    return repeat.forgetTasks().then(() => (mayComeAgain ? repeat.keep() : undefined));
  }

  function onRunEnd(ending: RunEnding): void {
    const isSuspended = suspension?.isSuspended === true;
    // Its approval tokens may have been sent already, so the suspended run must be closed before one can be used.
    const isAbandoned = isSuspended && isCancelled(signal);
    const actual = isAbandoned ? endingOf(undefined, signal) : ending;
    const logged: RunEnding = isSuspended && !isAbandoned ? { status: 'waiting' } : actual;
    stats.end(logged);
    recorder.end(logged);
    trace?.end(logged);
    session?.end(actual);
    if (isAbandoned) void suspension.abandon().then(() => table.onEnd(entry));
    else table.onEnd(entry);
  }

  const answer = (emit: Emit<ChatEvent>): Promise<void> => runAsPreset(request, { run, services }, emit);
  const answerResumed = (emit: Emit<ChatEvent>): Promise<void> => settling(suspension, keepFailedRun(answer, run, emit), signal);
  const stream = (emit: Emit<ChatEvent>): Promise<void> =>
    reportRun(resumed === undefined ? answer : answerResumed, { signal, observer: { onEvent, onFailure, onEnd: onRunEnd }, emit });
  return { entry, started: { run, stats, stream } };
}

/** Stores what a resumed run has done before its end is reported, because the chat may continue at once. */
async function settling(suspension: RunSuspension | undefined, answered: Promise<void>, signal: AbortSignal): Promise<void> {
  let isAnswered = false;
  try {
    await answered;
    isAnswered = true;
  } finally {
    await suspension?.settle(isAnswered ? 'answered' : isCancelled(signal) ? 'cancelled' : 'failed');
  }
}
