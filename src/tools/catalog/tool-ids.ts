import { GatewayError } from '../../core/errors.ts';

/** Ids that an error message lists; more would bury its point. */
const maxListedIds = 20;

/** An entry of `tool_ids` that the caller's key does not allow; `allowed`: what it does, where that may be said. */
export function forbiddenToolId(toolId: string, allowed?: readonly string[]): GatewayError {
  const others = allowed === undefined ? '' : ` It may use: ${listed(allowed)}.`;
  return new GatewayError('forbidden', `tool_ids: this key may not use "${toolId.slice(0, 100)}".${others}`, { param: 'tool_ids' });
}

/** `what` is known, as in "Known functions are: …". */
export function unknownToolId(toolId: string, what: string, known: readonly string[]): GatewayError {
  const message = `tool_ids: "${toolId.slice(0, 100)}" is not known. ${what} are: ${listed(known)}.`;
  return new GatewayError('unknown_tool_id', message, { param: 'tool_ids' });
}

function listed(ids: readonly string[]): string {
  if (ids.length === 0) return 'none';
  const rest = ids.length - maxListedIds;
  return rest > 0 ? `${ids.slice(0, maxListedIds).join(', ')} and ${rest} more` : ids.join(', ');
}
