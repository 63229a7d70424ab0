import { GatewayError } from '../../core/errors.ts';

/** Ids listed in an error message; more would bury its point. */
const maxListedIds = 20;

/** An entry of `tool_ids` that the caller's key does not allow. `allowed`: what the key does allow, if that may be revealed. */
export function forbiddenToolId(toolId: string, allowed?: readonly string[]): GatewayError {
  const others = allowed === undefined ? '' : ` It may use: ${formatIds(allowed)}.`;
  return new GatewayError('forbidden', `tool_ids: this key may not use "${toolId.slice(0, 100)}".${others}`, { param: 'tool_ids' });
}

/** `what` introduces the list of known ids, as in "Known functions are: …". */
export function unknownToolId(toolId: string, what: string, known: readonly string[]): GatewayError {
  const message = `tool_ids: "${toolId.slice(0, 100)}" is not known. ${what} are: ${formatIds(known)}.`;
  return new GatewayError('unknown_tool_id', message, { param: 'tool_ids' });
}

function formatIds(ids: readonly string[]): string {
  if (ids.length === 0) return 'none';
  const rest = ids.length - maxListedIds;
  return rest > 0 ? `${ids.slice(0, maxListedIds).join(', ')} and ${rest} more` : ids.join(', ');
}
