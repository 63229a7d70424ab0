import type { ResumedInner } from '../../core/runs/suspended-run.ts';
import type { RunContext } from '../../core/runs/run.ts';
import type { RunEvent } from '../../core/chat/run-event.ts';
import type { Tool } from '../../core/tools/tool.ts';
import type { ApprovalGate } from '../../core/tools/approval-gate.ts';
import type { ConnectGate } from '../../core/tools/connect-gate.ts';
import type { JsonObject } from '../../shared/json/json.ts';
import type { RunHooks } from '../hooks/run-hooks.ts';
import type { ResultCache } from '../results/result-cache.ts';
import type { DuplicateCallGuard } from './duplicate-call-guard.ts';
import type { Elicitations } from './context/elicit-input.ts';
import type { CallSlot } from './schedule-calls.ts';
import type { ResultLimits, ToolCallResult } from './tool-call-result.ts';

/** The run of a call, its time limits, and the services that calls of all runs share. */
export interface ToolCallSettings {
  run: RunContext;
  /** The time limit of the request or its preset; a tool's own has precedence. */
  requestTimeoutMs: number | undefined;
  defaultTimeoutMs: number;
  /** The total time limit of one call, even if it makes progress. Default: `limits.toolTotalTimeoutMs`. */
  totalTimeoutMs?: number;
  approvals?: ApprovalGate;
  /** Absent: calls without their caller's credential fail. */
  connecting?: ConnectGate;
  elicitations?: Elicitations;
  cache?: ResultCache;
  hooks?: RunHooks;
  /** Called with every exception that is hidden from the model. */
  onFault?: (fault: ToolFault) => void;
  newFaultId?: () => string;
  now: () => number;
}

/** An exception of a tool, for the log; model and caller only get its id. */
export interface ToolFault {
  id: string;
  tool: string;
  runId: string;
  callId: string;
  error: unknown;
}

/** The tools of a run that functions can change, as entries of `tool_ids`. */
export interface ToolSelection {
  toolIds(): string[];
  /** @throws GatewayError `unknown_tool_id`, `forbidden` */
  check(toolIds: readonly string[]): Promise<void>;
}

/** The calls of one round share this. All of it is absent for a call without a model. */
export interface RoundScope extends ResultLimits {
  guard?: DuplicateCallGuard;
  /** Absent if functions cannot change the tools of the run. */
  selection?: ToolSelection;
}

/** A call that its server works on. `args`: those that it was called with. */
export interface TaskOfCall {
  index: number;
  args: JsonObject;
  /** The name under which it is cited. */
  label: string;
  task: JsonObject;
}

/** How a call of a round tells that it has become a task. */
export interface TaskInRound {
  /** As in `CallTask`. */
  readonly stored?: JsonObject;
  begin(call: Omit<TaskOfCall, 'index'>): Promise<boolean>;
  /** Whether it was a task or not; to be called before another call of the round may begin. */
  settle(result: ToolCallResult): Promise<boolean> | undefined;
}

/** What one call shares with others, and what is specific to it. */
export interface ToolCallScope extends RoundScope {
  /** Emits an event; resolves when it was delivered, never rejects. Absent if there is no reader. */
  emit?: ((event: RunEvent) => Promise<void>) | undefined;
  /** Says something in the answer; resolves when it was delivered, never rejects. Absent if there is no textual answer. */
  say?: (text: string) => Promise<void>;
  /** Aborts the call; default: the run's signal. */
  signal?: AbortSignal;
  /** Absent for a call without siblings. */
  slot?: CallSlot;
  /** Requests for approval are not emitted yet, because another call of the round may ask its caller to connect first. */
  holdsRequests?: boolean;
  /** The state of a resumed call, which was already approved. */
  inner?: ResumedInner;
  /** Absent where no run can be continued after a restart. */
  task?: TaskInRound;
}

/** The tool's time limit, else that of the request or its preset, else the default. None of them may be zero, because that would not mean "none". */
export function timeoutOf(tool: Tool, { requestTimeoutMs, defaultTimeoutMs }: ToolCallSettings): number {
  const isLimit = (value: number | undefined): value is number => value !== undefined && value > 0;
  return [tool.timeoutMs, requestTimeoutMs].find(isLimit) ?? defaultTimeoutMs;
}
