import { eventIdOf } from '../../../chat/suspend/nested-call-ids.ts';
import type { PendingApproval, RequestedDecision } from '../../../core/user-input/approval.ts';
import { warningEvent, type CallerWarning } from '../../../core/chat/caller-warning.ts';
import type { ChatEvent } from '../../../core/chat/chat.ts';
import type { RunEvent } from '../../../core/chat/run-event.ts';
import type { LoggedEvent, RunLog } from '../../../core/runs/run-log.ts';
import { textIn } from '../../../shared/json/json.ts';
import type { DecidedCall, WaitingCall, WaitingRun } from '../../../core/runs/suspended-run.ts';
import type { ActiveRuns } from '../../../runs/active-runs.ts';
import type { RunStarter, StartedRun } from '../../../runs/started-run.ts';
import type { RequestedDecisions } from '../../../runs/suspended/requested-decisions.ts';

/** What a request with decisions leads to: its run is resumed, or still waits, as `events` say. */
type DecidedAnswer = { type: 'resumed'; started: StartedRun } | { type: 'waiting'; runId: string; events: ChatEvent[] };

interface DecidedRunsOptions {
  decisions: RequestedDecisions;
  runs: Pick<ActiveRuns, 'resume'>;
  log: Pick<RunLog, 'find'>;
}

/** Resumes suspended runs in dialects whose answers show each call. */
export interface DecidedRuns {
  /**
   * Answers a request with decisions. `stream` and `warnings` are those of the request.
   * @throws GatewayError as `RequestedDecisions.decide` and `ActiveRuns.resume`
   */
  answer(
    decisions: readonly RequestedDecision[],
    by: RunStarter & { stream: boolean; warnings: readonly CallerWarning[] },
  ): Promise<DecidedAnswer>;
  /** As `ActiveRuns.resume`, but the run first emits its calls without a result again. */
  resume: ActiveRuns['resume'];
}

export function createDecidedRuns({ decisions, runs, log }: DecidedRunsOptions): DecidedRuns {
  async function resumeShowingCalls(
    run: WaitingRun,
    decided: readonly DecidedCall[],
    { first, approval, ...who }: RunStarter & { first: ChatEvent[]; approval?: PendingApproval },
  ): Promise<StartedRun> {
    // Read before the resumed run adds to it.
    const begun = (await log.find(run.id))?.events ?? [];
    const started = await runs.resume(run, decided, who);
    const events = [...first, ...unsettledCalls(begun, run, approval)];
    return {
      ...started,
      async stream(emit) {
        const slow = emit(events);
        if (slow !== undefined) await slow;
        return started.stream(emit);
      },
    };
  }

  return {
    async answer(requested, { stream, warnings, ...who }) {
      const first = warnings.map(warningEvent);
      const decided = await decisions.decide(requested, who.caller);
      const { run, approval } = decided;
      if (decided.type === 'recorded')
        return { type: 'waiting', runId: run.id, events: [...first, ...waitingEvents(decided.waiting, approval)] };
      const now = { ...run, request: { ...run.request, stream } };
      return { type: 'resumed', started: await resumeShowingCalls(now, decided.decided, { ...who, first, approval }) };
    },
    resume: (run, decided, who) => resumeShowingCalls(run, decided, { ...who, first: [] }),
  };
}

function waitingEvents(waiting: readonly WaitingCall[], approval: PendingApproval): ChatEvent[] {
  const requests = waiting.map((call): ChatEvent => ({ type: 'run-event', event: requestEvent(call) }));
  return [...requests, { type: 'approval', approval }, { type: 'finish', reason: 'stop' }];
}

function requestEvent(call: WaitingCall): RunEvent {
  const { tool, args, server = '' } = call;
  return { type: 'approval.request', data: { id: eventIdOf(call), tool, args, server } };
}

/**
 * The calls of the run that began before its suspension and have no result yet. The run does not emit them again, and a dialect that shows each call
 * does not know the earlier answer. Calls that waited come from the run, with their tokens, because the log shortens their arguments.
 */
function unsettledCalls(events: readonly LoggedEvent[], run: WaitingRun, approval: PendingApproval | undefined): ChatEvent[] {
  const open = new Map<string, RunEvent>();
  for (const { type, data } of events) {
    if (data['within'] !== undefined) continue;
    const id = textIn(data['id']);
    const { args = {}, server } = data;
    const owner = typeof server === 'string' ? server : null;
    if (type === 'tool.call') open.set(id, { type, data: { id, tool: textIn(data['tool']), args, server: owner } });
    else if (type === 'tool.result') open.delete(id);
  }
  for (const { id, callId, tool, args, server = '', within } of run.calls) {
    const token = approval?.calls.find((call) => call.id === id)?.token ?? null;
    if (within === undefined) open.set(callId, { type: 'tool.call', data: { id: callId, tool, args, server, token } });
  }
  return [...open.values()].map((event): ChatEvent => ({ type: 'run-event', event, mayWait: true }));
}
