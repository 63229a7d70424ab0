import { hash } from 'node:crypto';

/**
 * The id of a request for approval. It leads to the run, and to the call by its token, which nobody can guess; the token itself stays out of
 * conversations.
 */
export function approvalRequestId(runId: string, token: string): string {
  return `mcpr_${runId}_${hash('sha256', token, 'base64url').slice(0, 22)}`;
}

/** Undefined for an id that is none of ours. */
export function runIdOf(requestId: string): string | undefined {
  return /^mcpr_([A-Za-z0-9-]{1,64})_[A-Za-z0-9_-]{22}$/.exec(requestId)?.[1];
}
