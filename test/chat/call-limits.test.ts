import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ToolCallSettings, ToolFault } from '../../src/chat/tool-calls/tool-call-scope.ts';
import { prepareToolCall } from '../../src/chat/tool-calls/prepare-tool-call.ts';
import { runToolCall } from '../../src/chat/tool-calls/run-tool-call.ts';
import { ToolError } from '../../src/core/tools/tool.ts';
import type { Tool, ToolContext, ToolInvocation, ToolOutcome } from '../../src/core/tools/tool.ts';
import { trustSchema } from '../../src/validation/trusted-schemas.ts';
import { runContext, toolMap, toolNamed } from '../_support/tools.ts';
import { callSettings } from './loop-fixture.ts';
import { waitFor } from '../_support/wait-for.ts';

type Work = (invocation: ToolInvocation, context: ToolContext) => Promise<ToolOutcome>;

/** A function that works with its context. Its schema is trusted, because a trial in a worker would not end within the time of fake timers. */
function working(work: Work, options: Partial<Tool> = {}): Tool {
  const tool = toolNamed('work', 1);
  trustSchema(tool.spec.parameters);
  return { ...tool, ...options, run: (invocation, context) => work(invocation, context as ToolContext) };
}

async function run(tool: Tool, settings: Partial<ToolCallSettings> = {}) {
  const all = callSettings(settings);
  const prepared = await prepareToolCall({ id: 'call-1', name: tool.spec.name, arguments: '{}' }, toolMap(tool), all.run);
  const result = await runToolCall(prepared, all);
  all.run.signal.throwIfAborted();
  return result;
}

const never = (): Promise<never> => new Promise(() => undefined);
const done: ToolOutcome = { type: 'result', value: 'done' };

describe('time limits', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
  afterEach(() => void vi.useRealTimers());

  it.each([
    ['the tool', { tool: 100, request: 200 }, 0.1],
    ['the request', { request: 200 }, 0.2],
    ['the default', {}, 0.4],
    // Zero never means "no limit".
    ['the default, when the others say zero', { tool: 0, request: 0 }, 0.4],
  ])('%s decides', async (_who, limit: { tool?: number; request?: number }, seconds) => {
    const tool = working(never, limit.tool === undefined ? {} : { timeoutMs: limit.tool });
    const report = run(tool, { requestTimeoutMs: limit.request, defaultTimeoutMs: 400 });
    await vi.advanceTimersByTimeAsync(1_000);
    expect((await report).text).toBe(`{"error":"Tool 'work' timed out after ${seconds}s"}`);
  });

  it('restarts the idle time upon progress, but not the total limit', async () => {
    let seen = 0;
    const tool = working(async (_invocation, context) => {
      for (;;) {
        await new Promise((resolve) => setTimeout(resolve, 900));
        await context.progress(++seen);
      }
    });
    const report = run(tool, { defaultTimeoutMs: 1_000, totalTimeoutMs: 3_000 });
    await vi.advanceTimersByTimeAsync(2_900);
    expect(seen).toBe(3);
    await vi.advanceTimersByTimeAsync(200);
    expect((await report).text).toBe(`{"error":"Tool 'work' timed out after 3s"}`);
  });

  it('gives a function that words an exception no more time than the call', async () => {
    const tool = working(() => Promise.reject(new Error('no')), { onError: never });
    const report = run(tool, { defaultTimeoutMs: 1_000 });
    await vi.advanceTimersByTimeAsync(1_000);
    expect((await Promise.race([report, Promise.resolve()]))?.text).toBe(`{"error":"Tool 'work' timed out after 1s"}`);
  });

  it('applies a total limit that is below the idle limit', async () => {
    const report = run(working(never), { defaultTimeoutMs: 5_000, totalTimeoutMs: 1_500 });
    await vi.advanceTimersByTimeAsync(1_500);
    expect((await report).text).toBe(`{"error":"Tool 'work' timed out after 1.5s"}`);
  });

  it('waits for a critical section with the idle limit and keeps its result, but not with the total limit', async () => {
    const tool = working(async (invocation, context) => {
      await context.critical(() => new Promise((resolve) => setTimeout(resolve, 2_000)));
      return { type: 'result', value: invocation.signal.aborted };
    });
    const report = run(tool, { defaultTimeoutMs: 1_000, totalTimeoutMs: 5_000 });
    await vi.advanceTimersByTimeAsync(2_000);
    expect((await report).outcome).toEqual({ type: 'result', value: false });
    const capped = run(tool, { defaultTimeoutMs: 1_000, totalTimeoutMs: 1_500 });
    await vi.advanceTimersByTimeAsync(1_500);
    expect((await capped).outcome).toMatchObject({ code: 'tool_timeout', state: 'outcome_unknown' });
  });

  it('lets a tool end the run when it takes too long', async () => {
    const report = run(working(never, { timeoutBehavior: 'abort' }));
    const ending = report.catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await ending).toMatchObject({ code: 'tool_failed', message: expect.stringContaining('timed out after 1s') });
  });

  it('retries a call that had no effect, and one that may have had an effect only if it is repeatable', async () => {
    const failing = (state: 'not_started' | 'outcome_unknown') => {
      const attempt = vi.fn(async (): Promise<ToolOutcome> => ({ type: 'error', code: 'tool_error', message: 'cut', state }));
      return { attempt, tool: (options: Partial<Tool> = {}) => ({ ...toolNamed('work', 1), ...options, run: attempt }) };
    };
    const attemptsOf = async ({ attempt, tool }: ReturnType<typeof failing>, options: Partial<Tool> = {}) => {
      attempt.mockClear();
      const report = run(tool(options));
      await vi.advanceTimersByTimeAsync(900);
      expect((await report).attempts).toBe(attempt.mock.calls.length);
      return attempt.mock.calls.length;
    };
    expect(await attemptsOf(failing('not_started'))).toBe(2);
    expect(await attemptsOf(failing('outcome_unknown'))).toBe(1);
    expect(await attemptsOf(failing('outcome_unknown'), { isReadOnly: true })).toBe(2);
    expect(await attemptsOf(failing('outcome_unknown'), { isIdempotent: true })).toBe(2);
  });
});

describe('an exception', () => {
  const throwing = (error: Error, options: Partial<Tool> = {}) =>
    working(async () => {
      throw error;
    }, options);

  it('is passed to the model if it is a ToolError; any other is masked and logged with an id', async () => {
    const faults: ToolFault[] = [];
    const settings = { onFault: (fault: ToolFault) => void faults.push(fault), newFaultId: () => 'f-1' };
    expect((await run(throwing(new ToolError('The door is locked.')), settings)).text).toBe('{"error":"The door is locked."}');
    expect(faults).toEqual([]);
    const secret = new Error('password=hunter2');
    const report = await run(throwing(secret), settings);
    expect(report.outcome).toMatchObject({ code: 'tool_internal_error' });
    expect(report.text).toBe('{"error":"The tool failed with an internal error (id f-1)."}');
    expect(faults).toEqual([{ id: 'f-1', tool: 'server/work', runId: 'run-1', callId: 'call-1', error: secret }]);
  });

  it('is handled like a rejection if it is thrown before the first await', async () => {
    const tool = working(() => {
      throw new ToolError('At once.');
    });
    expect((await run(tool)).text).toBe('{"error":"At once."}');
  });

  it('ends the run if the definition says so, and is masked even then', async () => {
    await expect(run(throwing(new ToolError('Enough.'), { onError: 'abort' }))).rejects.toMatchObject({
      code: 'tool_failed',
      message: "The tool 'work' ended the run: Enough.",
    });
    const masked = run(throwing(new Error('hunter2'), { onError: 'abort' }));
    await expect(masked).rejects.toMatchObject({ message: expect.not.stringContaining('hunter2') });
  });

  it('is worded by a function of the definition; if that throws too, it is masked', async () => {
    const onError = (error: unknown) => `Sorry: ${(error as Error).message}`;
    expect((await run(throwing(new Error('no'), { onError }))).text).toBe('{"error":"Sorry: no"}');
    const broken = throwing(new Error('no'), {
      onError: () => {
        throw new Error('worse');
      },
    });
    expect((await run(broken)).outcome).toMatchObject({ code: 'tool_internal_error' });
  });

  it.each([undefined, 5, { error: 'no' }])('is masked if that function returns %j instead of a text', async (given) => {
    const faults: ToolFault[] = [];
    const report = await run(throwing(new Error('no'), { onError: () => given as never }), { onFault: (fault) => void faults.push(fault) });
    expect(report.outcome).toMatchObject({ code: 'tool_internal_error' });
    expect(faults).toMatchObject([{ error: { message: "onError of 'work' gave no text for the model", cause: { message: 'no' } } }]);
  });
});

describe('the end of the run', () => {
  it('waits for a critical section, and prevents new ones', async () => {
    const leave = new AbortController();
    const log: string[] = [];
    const gate = Promise.withResolvers<void>();
    const tool = working(async (invocation, context) => {
      await context.critical(async () => {
        log.push('begun');
        await gate.promise;
        log.push(`aborted: ${invocation.signal.aborted}`);
      });
      await context.critical(() => void log.push('never'));
      return done;
    });
    const report = run(tool, { run: runContext({ signal: leave.signal }) });
    const ending = report.catch((error: unknown) => error);
    await waitFor(() => expect(log).toEqual(['begun']));
    leave.abort(new Error('left'));
    gate.resolve();
    expect(await ending).toMatchObject({ message: 'left' });
    expect(log).toEqual(['begun', 'aborted: false']);
  });

  it('starts nothing if the signal was aborted before', async () => {
    const attempt = vi.fn();
    const tool = working(async () => {
      attempt();
      return done;
    });
    await expect(run(tool, { run: runContext({ signal: AbortSignal.abort(new Error('left')) }) })).rejects.toThrow('left');
    expect(attempt).not.toHaveBeenCalled();
  });
});
