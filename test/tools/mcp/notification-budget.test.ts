import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { expect, it } from 'vitest';
import { limits } from '../../../src/core/limits.ts';
import type { CallScope } from '../../../src/tools/mcp/call-scope.ts';
import { createNotificationBudget, mcpNotificationBurst, mcpDroppedNotifications } from '../../../src/tools/mcp/incoming-messages.ts';
import { createNotificationBudgets } from '../../../src/tools/mcp/incoming/notification-budgets.ts';

const progress: JSONRPCMessage = { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 1, progress: 1 } };
const answer: JSONRPCMessage = { jsonrpc: '2.0', id: 1, result: {} };
const question: JSONRPCMessage = { jsonrpc: '2.0', id: 2, method: 'ping' };

function budget() {
  const clock = { now: 0 };
  const told: string[] = [];
  const mayPass = createNotificationBudget({
    onDropped: () => told.push('dropped'),
    onFlood: () => told.push('flood'),
    now: () => clock.now,
  });
  const passing = (count: number): number => Array.from({ length: count }, () => mayPass(progress)).filter(Boolean).length;
  return { clock, told, mayPass, passing };
}

it('notifications pass at once up to a number, and then at a rate; the rest is dropped with one word', () => {
  const { clock, told, mayPass, passing } = budget();
  expect(passing(mcpNotificationBurst)).toBe(mcpNotificationBurst);
  expect(told).toEqual([]);
  expect(passing(500)).toBe(0);
  clock.now = 1_000;
  expect(passing(500)).toBe(limits.mcpNotificationsPerSecond);
  expect(told).toEqual(['dropped']);
  expect([mayPass(answer), mayPass(question)]).toEqual([true, true]);
});

it('a server that floods without a pause is told of once, and one that was silent begins anew', () => {
  const { clock, told, passing } = budget();
  passing(mcpNotificationBurst + mcpDroppedNotifications + 5_000);
  expect(told).toEqual(['dropped', 'flood']);
  clock.now = 3_600_000;
  expect(passing(mcpNotificationBurst + 1)).toBe(mcpNotificationBurst);
  expect(told).toEqual(['dropped', 'flood', 'dropped']);
});

/** A pipe that all calls share; `begin` sends the request of a call. */
function pipe() {
  const told: string[] = [];
  let sending: CallScope | undefined;
  const transport: Transport = { start: async () => undefined, close: async () => undefined, send: async () => undefined };
  const mayPass = createNotificationBudgets(transport, {
    scopes: { begun: () => sending },
    onDropped: () => undefined,
    onFlood: () => told.push('connection'),
  });
  async function begin(id: number): Promise<void> {
    const onFlood = (): void => void told.push(`call ${id}`);
    sending = { onFlood } as CallScope;
    await transport.send({ jsonrpc: '2.0', id, method: 'tools/call', params: {} });
    sending = undefined;
  }
  const passing = (count: number, progressToken?: number): number => {
    const message: JSONRPCMessage = { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress: 1 } };
    return Array.from({ length: count }, () => mayPass(message)).filter(Boolean).length;
  };
  return { told, begin, passing };
}

it('a call with too many notifications loses its own and is ended; those of other calls and of the server pass', async () => {
  const { told, begin, passing } = pipe();
  await begin(1);
  await begin(2);
  passing(mcpNotificationBurst + mcpDroppedNotifications + 5_000, 1);
  expect([passing(100, 2), passing(100), passing(100, 3)]).toEqual([100, 100, 100]);
  expect(told).toEqual(['call 1']);
});

it('a call that goes on although it was ended, and a flood of no call, end the connection', async () => {
  const { told, begin, passing } = pipe();
  await begin(1);
  passing(mcpNotificationBurst + 10 * mcpDroppedNotifications + 5_000, 1);
  passing(mcpNotificationBurst + mcpDroppedNotifications + 5_000);
  expect(told).toEqual(['call 1', 'connection', 'connection']);
});
