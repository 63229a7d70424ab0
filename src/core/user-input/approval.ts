import type { JsonObject } from '../../shared/json/json.ts';

/** What a human decided about one call. `args` replace the model's. */
export type ApprovalAnswer = { decision: 'approve'; args?: JsonObject } | { decision: 'reject'; message?: string };

/** A decision that comes with a later request of the chat, in the dialect's own form. */
export interface RequestedDecision {
  runId: string;
  /** Whether it is about the call with this token. */
  isAbout(token: string): boolean;
  answer: ApprovalAnswer;
  /** The field of the request that names the call. */
  param: string;
}

/** What a caller needs to decide. The top-level `token` is present if there is only one call. */
export interface PendingApproval {
  run_id: string;
  calls: { id: string; tool: string; arguments: JsonObject; token: string }[];
  token?: string;
  /** The gateway's page that takes the decision; absent if it is not known where people reach the gateway. */
  url?: string;
}

/** The path of that page begins with this; the rest is the secret part of the link. */
export const approvalPagePath = '/approvals/';

/** Which calls wait for a human: all, none, or those of the functions named. */
export type ApprovalRule = boolean | readonly string[];

/** Whether a rule applies to a function with these names. */
export function isMeantBy(rule: ApprovalRule, names: readonly string[]): boolean {
  return typeof rule === 'boolean' ? rule : names.some((name) => rule.includes(name));
}
