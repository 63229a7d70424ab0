import type { AuditedAct } from '../stores/audit-store.ts';
import type { JsonObject } from '../../shared/json/json.ts';
import type { ApprovalAnswer } from './approval.ts';

interface DecidedBy {
  callerId: string;
  runId: string;
  call: { id: string; tool: string; server?: string; args: JsonObject };
}

/** Names of arguments; a call may have more. */
const maxNames = 50;

/** A decision as the audit log has it: with the names of the arguments that its approver saw, without their values. */
export function decisionOf(answer: ApprovalAnswer, { callerId, runId, call: { id, tool, server, args } }: DecidedBy): AuditedAct {
  const names = Object.keys(args).slice(0, maxNames);
  const isEdited = answer.decision === 'approve' && answer.args !== undefined;
  return {
    callerId,
    action: answer.decision === 'approve' ? 'call.approve' : 'call.reject',
    subject: tool,
    detail: { ...(server !== undefined && { server }), run_id: runId, call_id: id, arguments: names, ...(isEdited && { edited: true }) },
  };
}
