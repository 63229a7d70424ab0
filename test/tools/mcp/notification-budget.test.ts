import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { expect, test } from 'vitest';
import { limits } from '../../../src/core/limits.ts';
import { createNotificationBudget } from '../../../src/tools/mcp/incoming-messages.ts';

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

test('notifications pass at once up to a number, and then at a rate; the rest is dropped with one word', () => {
  const { clock, told, mayPass, passing } = budget();
  expect(passing(limits.mcpNotificationBurst)).toBe(limits.mcpNotificationBurst);
  expect(told).toEqual([]);
  expect(passing(500)).toBe(0);
  clock.now = 1_000;
  expect(passing(500)).toBe(limits.mcpNotificationsPerSecond);
  expect(told).toEqual(['dropped']);
  expect([mayPass(answer), mayPass(question)]).toEqual([true, true]);
});

test('a server that floods without a pause is told of once, and one that was silent begins anew', () => {
  const { clock, told, passing } = budget();
  passing(limits.mcpNotificationBurst + limits.mcpDroppedNotifications + 5_000);
  expect(told).toEqual(['dropped', 'flood']);
  clock.now = 3_600_000;
  expect(passing(limits.mcpNotificationBurst + 1)).toBe(limits.mcpNotificationBurst);
  expect(told).toEqual(['dropped', 'flood', 'dropped']);
});
