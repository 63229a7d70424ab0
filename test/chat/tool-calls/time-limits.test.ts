import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { fitToolCall } from '../../../src/chat/tool-calls/prepare-tool-call.ts';
import { runToolCall } from '../../../src/chat/tool-calls/run-tool-call.ts';
import { Supervision } from '../../../src/chat/tool-calls/supervise-call.ts';
import type { Tool, ToolOutcome } from '../../../src/core/tools/tool.ts';
import { toolMap, toolNamed } from '../../_support/tools.ts';
import { callSettings, numbered } from '../loop-fixture.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

const hourMs = 3_600_000;

async function textAfterAnHour(kind: Tool['kind']): Promise<string> {
  const late = Promise.withResolvers<ToolOutcome>();
  const tool: Tool = { ...toolNamed('work', 1, numbered), kind, run: () => late.promise };
  const call = fitToolCall({ id: 'call-1', name: 'work', arguments: '{}' }, toolMap(tool));
  const running = runToolCall(call, callSettings());
  await vi.advanceTimersByTimeAsync(hourMs);
  late.resolve({ type: 'result', value: 'done' });
  return (await running).text;
}

it('the time limits of a single tool end a function and not a preset, whose own calls have limits [S2-16]', async () => {
  expect(await textAfterAnHour('function')).toContain("Tool 'work' timed out after");
  expect(await textAfterAnHour('preset')).toBe('done');
});

it('the end of a pause starts no limits where there are none', async () => {
  const call = new Supervision();
  const ended = vi.fn();
  void call.ended.then(ended);
  call.pause()();
  await vi.advanceTimersByTimeAsync(hourMs);
  expect(ended).not.toHaveBeenCalled();
});
