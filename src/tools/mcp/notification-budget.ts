import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { limits } from '../../core/limits.ts';

export interface NotificationBudgetOptions {
  /** The first notification was dropped, after a time in which none was. */
  onDropped: () => void;
  /** So many were dropped without a pause that the connection has to end. */
  onFlood: () => void;
  /** Milliseconds. */
  now?: () => number;
}

/**
 * Lets a server send notifications (progress, log messages, changes of its list) at a certain rate, and drops the others: what is told more often
 * than anybody can read is a fault. Answers and questions always pass. True: the message passes.
 */
export function createNotificationBudget({
  onDropped,
  onFlood,
  now = () => performance.now(),
}: NotificationBudgetOptions): (message: JSONRPCMessage) => boolean {
  const { mcpNotificationBurst: burst, mcpNotificationsPerSecond: perSecond, mcpDroppedNotifications: maxDropped } = limits;
  let left: number = burst;
  let countedAt = now();
  let dropped = 0;

  return (message) => {
    if (!('method' in message) || 'id' in message) return true;
    const at = now();
    left = Math.min(burst, left + ((at - countedAt) * perSecond) / 1_000);
    countedAt = at;
    if (left === burst) dropped = 0;
    if (left >= 1) {
      left -= 1;
      return true;
    }
    dropped += 1;
    if (dropped === 1) onDropped();
    if (dropped === maxDropped) onFlood();
    return false;
  };
}
