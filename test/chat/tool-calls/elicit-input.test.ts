import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createElicitation } from '../../../src/chat/tool-calls/context/elicit-input.ts';
import { Supervision } from '../../../src/chat/tool-calls/supervise-call.ts';
import type { Ending } from '../../../src/chat/tool-calls/supervise-call.ts';
import type { ElicitationReply } from '../../../src/core/user-input/elicitation.ts';
import { runContext } from '../../_support/tools.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function openCall(reply: Promise<ElicitationReply>) {
  const supervision = new Supervision();
  supervision.startLimits({ idleMs: 1_000, totalMs: 60_000 });
  const endings: Ending[] = [];
  void supervision.ended.then((ending) => endings.push(ending));
  const elicitations = { ask: () => reply, timeoutMs: 300_000 };
  return { supervision, endings, user: createElicitation({ run: runContext(), elicitations, supervision, tool: 'work', args: {} }) };
}

it('the idle time does not run while a user thinks, and runs again afterwards', async () => {
  const reply = Promise.withResolvers<ElicitationReply>();
  const { supervision, endings, user } = openCall(reply.promise);
  const asked = user.ask('Where to?');
  await vi.advanceTimersByTimeAsync(30_000);
  expect(endings).toEqual([]);
  reply.resolve({ type: 'answered', data: { value: 'Rome' } });
  expect(await asked).toBe('Rome');
  await vi.advanceTimersByTimeAsync(1_000);
  expect(endings).toEqual([{ type: 'timeout', limitMs: 1_000 }]);
  supervision[Symbol.dispose]();
});

it('the total limit of the call stays', async () => {
  const { supervision, endings, user } = openCall(new Promise(() => undefined));
  void user.confirm('Sure?');
  await vi.advanceTimersByTimeAsync(60_000);
  expect(endings).toEqual([{ type: 'timeout', limitMs: 60_000 }]);
  supervision[Symbol.dispose]();
  vi.clearAllTimers();
});
