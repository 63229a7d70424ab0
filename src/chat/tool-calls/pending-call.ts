import type { InnerWait } from '../../core/suspended-run.ts';
import type { ToolCall } from '../../core/chat.ts';
import type { JsonObject } from '../../shared/json.ts';
import { limits } from '../../core/limits.ts';
import type { RunEvent } from '../../core/run-event.ts';
import type { ApprovalDecision } from '../../core/approval-gate.ts';
import type { FollowUp, ToolContext, ToolOutcome } from '../../core/tool.ts';
import { createElicitation } from './elicit-input.ts';
import type { DuplicateCallRefusal } from './duplicate-call-guard.ts';
import { reportOf, timeoutOf } from './tool-call-result.ts';
import type { ToolCallResult, ToolCallScope, ToolCallSettings } from './tool-call-result.ts';
import { executeToolCall, maskFault } from './execute-tool-call.ts';
import { judgeCall, judgeResult } from '../hooks/hook-call.ts';
import { prepareToolCall } from './prepare-tool-call.ts';
import type { PreparedCall, ReadyCall } from './prepare-tool-call.ts';
import type { CheckedCall, EndedCall } from './schedule-calls.ts';
import { startCallDeadline } from './call-deadline.ts';
import type { Ending, Supervision } from './call-deadline.ts';

/** A call from the moment that it is told until it has settled: waiting, running, settled, in this order and each at most once. */
export interface PendingCall {
  readonly call: ToolCall;
  /** Settles once, with whatever came first. Rejects only with GatewayError `tool_failed`, which ends the run. */
  readonly report: Promise<ToolCallResult>;
  /** Asks whether the call may run; it still waits afterwards. `onAsked` is told when that takes a human. */
  approve(onAsked?: () => void): Promise<CheckedCall>;
  /** Runs it unless it has ended; resolves when it has settled. */
  start(): Promise<EndedCall>;
  /** It does not run in this request, because it stands behind a call whose approval comes in another one. */
  hold(): void;
  /** Before its start: it never starts. While it runs: see `Supervision.end`. Settled: nothing. */
  end(ending: Ending): void;
}

export function createPendingCall(given: PreparedCall, settings: ToolCallSettings, around: ToolCallScope): PendingCall {
  let prepared = given;
  let state: 'waiting' | 'running' | 'settled' = 'waiting';
  let supervision: Supervision | undefined;
  let isSuspended = false;
  const wait = new AbortController();
  const { promise: report, resolve, reject } = Promise.withResolvers<ToolCallResult>();
  // Whoever reads the report meets a rejection; it must not count as unhandled before.
  report.catch(() => undefined);

  function settle(settled: ToolCallResult): void {
    if (state === 'settled') return;
    state = 'settled';
    isSuspended = settled.isWaiting === true;
    resolve(settled);
  }
  function settleUnrun(outcome: ToolOutcome): void {
    settle(reportOf({ prepared, outcome, durationMs: 0 }, around));
  }
  function refuse(refusal: DuplicateCallRefusal): void {
    const { call, tool, args } = prepared;
    prepared = { type: 'refused', call, tool, ...(args && { args }), ...refusal };
    settleUnrun({ type: 'error', ...refusal, state: 'not_started' });
  }
  /** What hooks say of it comes before a human is asked. */
  async function judge(call: ReadyCall): Promise<void> {
    try {
      const judged = await judgeCall(call, settings);
      if (state !== 'waiting') return;
      prepared = judged.prepared;
      if (prepared.type === 'refused') settleUnrun({ type: 'error', code: prepared.code, message: prepared.message });
      else if (judged.outcome !== undefined)
        settle({ ...reportOf({ prepared, outcome: judged.outcome, durationMs: 0 }, around), isByHook: true });
    } catch (error) {
      state = 'settled';
      reject(error);
    }
  }
  /** Hooks first, then whoever has to approve it. */
  async function ask(onAsked: (() => void) | undefined): Promise<void> {
    if (settings.hooks !== undefined && state === 'waiting' && prepared.type === 'ready') await judge(prepared);
    if (state !== 'waiting' || prepared.type === 'refused' || settings.approvals === undefined) return;
    const { call, tool, args } = prepared;
    let decision: ApprovalDecision;
    try {
      const tell = (event: RunEvent): void => {
        around.live?.tell(event);
        if (event.type === 'approval.request') onAsked?.();
      };
      decision = await settings.approvals.decide({ callId: call.id, tool, args, run: settings.run, signal: wait.signal, tell });
    } catch (error) {
      return settleUnrun(wait.signal.aborted ? notStarted : { ...maskFault(error, prepared, settings), state: 'not_started' });
    }
    if (decision.type === 'refused') settleUnrun({ type: 'error', code: decision.code, message: decision.message, state: 'not_started' });
    else if (decision.type === 'waiting')
      settle({
        ...reportOf({ prepared, outcome: notDecided(tool.spec.name), durationMs: 0 }, around),
        isWaiting: true,
        definition: decision.definition,
      });
    else if (decision.args !== undefined) {
      const edited = { ...call, name: tool.spec.name, arguments: JSON.stringify(decision.args) };
      const checked = await prepareToolCall(edited, new Map([[tool.spec.name, tool]]), settings.run).catch(() => undefined);
      // Only a run that is left ends the check.
      if (checked === undefined || state !== 'waiting') return settleUnrun(notStarted);
      prepared = { ...checked, call };
      if (prepared.type === 'refused') settleUnrun({ type: 'error', code: prepared.code, message: prepared.message });
    }
  }
  if (given.type === 'refused') settleUnrun({ type: 'error', code: given.code, message: given.message });

  return {
    call: given.call,
    report,

    async approve(onAsked) {
      if (around.inner === undefined) {
        const refusal = prepared.type === 'ready' ? around.ledger?.objection(prepared.tool, prepared.args) : undefined;
        if (refusal === undefined) await ask(onAsked);
        else refuse(refusal);
      }
      if (state === 'waiting') return 'ready';
      return isSuspended ? 'suspended' : 'over';
    },

    async start() {
      if (state !== 'waiting' || prepared.type === 'refused') return 'over';
      const refusal = around.ledger?.begin(prepared.tool, prepared.args, around.inner !== undefined);
      if (refusal !== undefined) {
        refuse(refusal);
        return 'over';
      }
      state = 'running';
      const timeoutMs = timeoutOf(prepared.tool, settings);
      using own = startCallDeadline({ idleMs: timeoutMs, totalMs: settings.totalTimeoutMs ?? limits.toolTotalTimeoutMs });
      supervision = own;
      try {
        settle(await runReady(prepared, { settings, around, supervision: own, timeoutMs, isOver: () => state === 'settled' }));
      } catch (error) {
        state = 'settled';
        reject(error);
      }
      return isSuspended ? 'suspended' : 'over';
    },

    hold() {
      if (state === 'waiting') settle({ ...reportOf({ prepared, outcome: held, durationMs: 0 }, around), isHeld: true });
    },

    end(ending) {
      if (state === 'waiting') {
        settleUnrun(notStarted);
        wait.abort(new DOMException(notStarted.message, 'AbortError'));
      } else supervision?.end(ending);
    },
  };
}

const notStarted = {
  type: 'error',
  code: 'tool_cancelled',
  message: 'The call was cancelled before it had started; nothing of it was done.',
  state: 'not_started',
} as const;

/** What the model is told where the run cannot wait either. */
const held = {
  type: 'error',
  code: 'tool_cancelled',
  message: 'A call before this one needs an approval that cannot be waited for just now, so this one was not run.',
  state: 'not_started',
} as const;

/** The same of the call that needs the approval. */
function notDecided(name: string): ToolOutcome {
  const message = `'${name}' needs a human's approval, which cannot be waited for just now; it was not run.`;
  return { type: 'error', code: 'approval_required', message, state: 'not_started' };
}

interface Circumstances {
  settings: ToolCallSettings;
  around: ToolCallScope;
  supervision: Supervision;
  timeoutMs: number;
  isOver: () => boolean;
}

async function runReady(prepared: ReadyCall, circumstances: Circumstances): Promise<ToolCallResult> {
  const { settings, around, supervision, timeoutMs } = circumstances;
  const { tool, args } = prepared;
  const { caller } = settings.run;
  const started = settings.now();
  const cached = settings.cache?.find(caller, tool, args);
  let isStopped = false;
  const waiting: { inner?: InnerWait } = {};
  const waitFor = (inner: InnerWait): void => void (waiting.inner = inner);
  const context = contextOf(prepared, circumstances, () => (isStopped = true));
  const { outcome, attempts } =
    cached === undefined
      ? await executeToolCall({ prepared, settings, supervision, context, around, timeoutMs, waitFor })
      : { outcome: { type: 'result' as const, value: cached.value }, attempts: 0 };
  around.ledger?.settle(tool, args, outcome);
  const followUp: FollowUp | undefined = isStopped ? { type: 'stop' } : outcome.type === 'result' ? outcome.followUp : undefined;
  const mayKeep = cached === undefined && outcome.type === 'result' && outcome.isTruncated !== true && followUp === undefined;
  if (mayKeep) settings.cache?.keep({ caller, tool, args, value: outcome.value });
  const judged = await judgeResult(prepared, outcome, settings);
  const durationMs = Math.max(0, Math.round(settings.now() - started));
  const ended = { prepared, outcome: judged, durationMs, attempts, ...(followUp && { followUp }) };
  // A call that was ended meanwhile waits for nothing.
  const isWaiting = judged.type === 'error' && judged.code === 'approval_required' && waiting.inner !== undefined;
  return reportOf(isWaiting ? { ...ended, ...waiting, isWaiting } : ended, around);
}

function contextOf(prepared: ReadyCall, { settings, around, supervision, isOver }: Circumstances, stop: () => void): ToolContext {
  const call = { id: prepared.call.id, tool: prepared.tool.spec.name };
  let told = 0;
  async function tell(data: JsonObject): Promise<void> {
    if (isOver() || supervision.signal.aborted) return;
    supervision.touch();
    if (++told <= limits.progressEventsPerCall) await around.live?.progress(call, data);
  }
  return {
    signal: supervision.signal,
    status: (text) => tell({ status: text }),
    progress: (done, total) => tell({ progress: done, ...(total !== undefined && { total }) }),
    critical: (work) => supervision.critical(work),
    ...createElicitation({ run: settings.run, questions: settings.questions, supervision, tool: call.tool, args: prepared.args }),
    stop,
  };
}
