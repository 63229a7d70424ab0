import type { RequestedDecision } from '../../../core/user-input/approval.ts';
import { invalidField } from '../../../core/errors.ts';
import type { JsonObject } from '../../../shared/json/json.ts';
import { approvalRequestId, runIdOf } from './approval-request-id.ts';

/** @throws GatewayError `invalid_request` for an id that the gateway did not issue */
export function toDecision(
  response: { id: string; approve: boolean; reason?: string | null | undefined },
  param: string,
): RequestedDecision {
  const { id, approve, reason } = response;
  const runId = runIdOf(id);
  if (runId === undefined)
    throw invalidField(param, 'no approval request has this id. Send the id of an item of the type mcp_approval_request.');
  const message = reason === undefined || reason === null || reason === '' ? {} : { message: reason };
  const answer = approve ? { decision: 'approve' as const } : { decision: 'reject' as const, ...message };
  return { runId, isAbout: (token) => approvalRequestId(runId, token) === id, answer, param };
}

export interface Approvals {
  /** The last response to each request. */
  responses: Map<string, JsonObject>;
  /** Ids of requests whose calls have run. */
  executed: Set<string>;
}

export function approvalsIn(items: readonly JsonObject[]): Approvals {
  const approvals: Approvals = { responses: new Map(), executed: new Set() };
  for (const item of items) {
    const { type, approval_request_id: id } = item;
    if (typeof id !== 'string') continue;
    if (type === 'mcp_approval_response') approvals.responses.set(id, item);
    else if (type === 'mcp_call') approvals.executed.add(id);
  }
  return approvals;
}
