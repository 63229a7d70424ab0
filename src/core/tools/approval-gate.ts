import type { JsonObject } from '../../shared/json/json.ts';
import type { RunContext } from '../runs/run.ts';
import type { RunEvent } from '../chat/run-event.ts';
import type { DecidedCall } from '../runs/suspended-run.ts';
import type { Tool } from './tool.ts';

/** A call that is ready to run: its function is found and its arguments are valid. */
export interface ApprovalRequest {
  callId: string;
  tool: Tool;
  args: JsonObject;
  run: RunContext;
  /** Aborted when nobody waits for the decision any more. */
  signal: AbortSignal;
  /** Emits `approval.request` and `approval.response`. */
  emit(event: RunEvent): void;
}

/**
 * `args`: edited by a human; like a model's they are validated and go through hooks before the call runs. `decided`: the decision with which the run was resumed, for a call
 * that cannot run all the same.
 */
export type ApprovalDecision =
  | { type: 'approved'; args?: JsonObject; decided?: DecidedCall }
  /** The decision will come in another request, so the run has to be suspended. `definition` identifies the function: only what was approved may run later. */
  | { type: 'waiting'; definition: string }
  | { type: 'refused'; code: 'approval_required' | 'approval_rejected' | 'approval_expired' | 'definition_changed'; message: string };

/** Decides on every call between its validation and its start; other calls of the round run meanwhile. Without a gate every call may run. */
export interface ApprovalGate {
  decide(request: ApprovalRequest): Promise<ApprovalDecision>;
  /** Asks the function about arguments that its approver has edited, and so approved. @throws what the function throws, which keeps the call from running */
  recheck(request: Pick<ApprovalRequest, 'tool' | 'args' | 'run'>): Promise<void>;
}
