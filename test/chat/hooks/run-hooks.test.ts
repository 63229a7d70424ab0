import { describe, expect, it } from 'vitest';
import { RunHooks } from '../../../src/chat/hooks/run-hooks.ts';
import type { Hook, HookFault, HookInvocation } from '../../../src/core/tools/hooks.ts';
import { runContext } from '../../_support/tools.ts';

const place = runContext();
const call = { name: 'f', args: { n: 1 } };

function hook(name: string, fields: Partial<Hook>): Hook {
  return { name, timeoutMs: 1_000, onFailure: 'abort', ...fields };
}

describe('hooks of one kind', () => {
  it('run in order, each with the output of the one before', async () => {
    const hooks = new RunHooks(
      [
        hook('a', { beforeTool: async ({ args }) => ({ type: 'arguments', args: { ...args, a: 1 } }) }),
        hook('b', {}),
        hook('c', { beforeTool: async ({ args }) => ({ type: 'arguments', args: { ...args, c: Object.keys(args).length } }) }),
      ],
      () => undefined,
    );
    expect(await hooks.beforeTool(call, place)).toEqual({ type: 'arguments', args: { n: 1, a: 1, c: 2 } });
  });

  it('stop at the first one that answers or refuses', async () => {
    const asked: string[] = [];
    const saying = (name: string, message: string): Hook =>
      hook(name, {
        beforeTool: async () => {
          asked.push(name);
          return { type: 'reject', message };
        },
        beforeModel: async () => ({ type: 'answer', message: { role: 'assistant', content: message, toolCalls: [] } }),
      });
    const hooks = new RunHooks([saying('a', 'no'), saying('b', 'never')], () => undefined);
    expect(await hooks.beforeTool(call, place)).toEqual({ type: 'reject', message: 'no' });
    expect(await hooks.beforeModel({ purpose: 'answer', model: 'm', messages: [], tools: [] }, place)).toMatchObject({
      answer: { content: 'no' },
    });
    expect(asked).toEqual(['a']);
  });

  it('change a result one after the other, even to null', async () => {
    const changing = (value: null | string): Hook =>
      hook('h', { afterTool: async ({ result }) => ({ type: 'result', value: value ?? (result === null ? 'was null' : null) }) });
    const hooks = new RunHooks([changing(null), changing(null)], () => undefined);
    expect(await hooks.afterTool({ ...call, result: 5 }, place)).toEqual({ type: 'result', value: 'was null' });
  });
});

describe('a hook that fails', () => {
  const endless = ({ signal }: HookInvocation): Promise<never> =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
  it.each<[string, Partial<Hook>]>([
    ['throws', { beforeTool: () => Promise.reject(new Error('CANARY')) }],
    ['takes too long', { timeoutMs: 5, beforeTool: (_, at) => endless(at) }],
    ['takes too long and minds no signal', { timeoutMs: 5, beforeTool: () => new Promise(() => undefined) }],
  ])('follows its policy when it %s', async (_, fields) => {
    const faults: HookFault[] = [];
    const after = hook('after', { beforeTool: async () => ({ type: 'reject', message: 'reached' }) });
    const hooksThat = (onFailure: 'ignore' | 'abort') =>
      new RunHooks([hook('bad', { ...fields, onFailure }), after], (fault) => void faults.push(fault));
    expect(await hooksThat('ignore').beforeTool(call, place)).toEqual({ type: 'reject', message: 'reached' });
    await expect(hooksThat('abort').beforeTool(call, place)).rejects.toMatchObject({
      code: 'hook_failed',
      message: 'The hook "bad" failed, and its policy is to end the run.',
    });
    expect(faults.map(({ hook: name, runId }) => [name, runId])).toEqual([
      ['bad', 'run-1'],
      ['bad', 'run-1'],
    ]);
  });

  it('is not awaited any more once the client has disconnected, whatever its policy', async () => {
    const leave = new AbortController();
    const hooks = new RunHooks([hook('slow', { onFailure: 'ignore', afterModel: () => new Promise(() => undefined) })], () => undefined);
    const answer = hooks.afterModel({ role: 'assistant', content: 'x', toolCalls: [] }, 'answer', runContext({ signal: leave.signal }));
    leave.abort(new Error('left'));
    await expect(answer).rejects.toThrow('left');
  });
});

it('ends the run with the message of a hook that aborts, whatever its policy', async () => {
  const hooks = new RunHooks(
    [hook('h', { onFailure: 'ignore', beforeModel: async () => ({ type: 'abort', message: 'Closed.' }) })],
    () => undefined,
  );
  await expect(hooks.beforeModel({ purpose: 'answer', model: 'm', messages: [], tools: [] }, place)).rejects.toMatchObject({
    code: 'refused_by_hook',
    message: 'Closed.',
  });
});
