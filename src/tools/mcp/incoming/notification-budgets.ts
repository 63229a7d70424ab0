import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { isJsonObject } from '../../../shared/json/json.ts';
import type { CallScope, CallScopes } from '../call-scope.ts';
import { createNotificationBudget } from '../incoming-messages.ts';

/** Calls whose progress is known by its token; of more than that run at a time, the oldest count as the server's own. */
const knownTokens = 1_000;

interface NotificationBudgets {
  scopes: Pick<CallScopes, 'begun'>;
  /** Called when the first notification is dropped after a period without drops. */
  onDropped: () => void;
  /** Called when the connection has to be closed. */
  onFlood: () => void;
}

/**
 * Each call has a budget for the notifications that it causes, and loses only its own: a caller may choose how many steps a function reports. What
 * belongs to no call has another. Must be given the transport before anything is sent. Returns whether an incoming message passes.
 */
export function createNotificationBudgets(
  transport: Transport,
  { scopes, onDropped, onFlood }: NotificationBudgets,
): (message: JSONRPCMessage) => boolean {
  const ofNobody = createNotificationBudget({ onDropped, onFlood });
  const budgets = new WeakMap<CallScope, ReturnType<typeof createNotificationBudget>>();
  /** By the id of a request, which is its token of progress. Kept after the answer, because a server may still report. */
  const byToken = new Map<unknown, CallScope>();

  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    const scope = scopes.begun();
    if (scope !== undefined && 'method' in message && 'id' in message) {
      byToken.set(message.id, scope);
      for (const id of byToken.keys()) if (byToken.size > knownTokens) byToken.delete(id);
    }
    return send(message, options);
  };

  function budgetOf(scope: CallScope): (message: JSONRPCMessage) => boolean {
    const known = budgets.get(scope);
    if (known !== undefined) return known;
    const created = createNotificationBudget({ onDropped, onFlood: () => scope.onFlood(), onUnstoppable: onFlood });
    budgets.set(scope, created);
    return created;
  }

  return (message) => {
    if (!('method' in message) || 'id' in message) return true;
    const { params } = message;
    const scope = scopes.begun() ?? (isJsonObject(params) ? byToken.get(params['progressToken']) : undefined);
    return (scope === undefined ? ofNobody : budgetOf(scope))(message);
  };
}
