import { expect, it, vi } from 'vitest';
import { createResultCache } from '../../../src/chat/results/result-cache.ts';
import type { ChatEvent } from '../../../src/core/chat/chat.ts';
import { limits } from '../../../src/core/limits.ts';
import type { ApprovalDecision, ApprovalRequest } from '../../../src/core/tools/approval-gate.ts';
import { ToolError } from '../../../src/core/tools/tool.ts';
import type { FollowUp, Tool, ToolContext, ToolOutcome } from '../../../src/core/tools/tool.ts';
import { calls, says, ScriptedModel } from '../../_support/scripted-model.ts';
import { collect, eventsOf, runContext, textOfEvents, toolNamed } from '../../_support/tools.ts';
import { callSettings, loop, numbered, resultsBefore } from '../loop-fixture.ts';
import { waitFor } from '../../_support/wait-for.ts';
import { progressEventsPerCall } from '../../../src/chat/tool-calls/context/call-context.ts';

/** Each tool writes down when it begins and when it ends. */
function logging(log: string[], name: string, options: Partial<Tool> = {}): Tool {
  const answer = async (): Promise<ToolOutcome> => {
    log.push(`+${name}`);
    await new Promise((resolve) => setImmediate(resolve));
    log.push(`-${name}`);
    return { type: 'result', value: name };
  };
  return toolNamed(name, answer, options);
}
const reading = { isReadOnly: true };

it('calls that only read run together, every other call alone and in its place, and all report in their order', async () => {
  const log: string[] = [];
  const tools = [logging(log, 'a', reading), logging(log, 'b', reading), logging(log, 'write'), logging(log, 'move')];
  const model = new ScriptedModel(calls(['a', {}], ['b', {}], ['write', {}], ['move', {}], ['b', {}], ['a', {}]), says('Done.'));
  await collect(loop(model, tools));
  expect(log).toEqual(['+a', '+b', '-a', '-b', '+write', '-write', '+move', '-move', '+b', '+a', '-b', '-a']);
  expect(resultsBefore(model, 1)).toEqual(['a', 'b', 'write', 'move', 'b', 'a']);
});

it('a parallel function runs beside others, not beside a write, and a sequential one beside none even if it only reads', async () => {
  const log: string[] = [];
  const tools = [
    logging(log, 'a', { isParallel: true }),
    logging(log, 'b', reading),
    logging(log, 'write'),
    logging(log, 'alone', { ...reading, isSequential: true }),
  ];
  const model = new ScriptedModel(calls(['a', {}], ['b', {}], ['alone', {}], ['a', {}], ['b', {}], ['write', {}]), says('Done.'));
  await collect(loop(model, tools));
  expect(log).toEqual(['+a', '+b', '-a', '-b', '+alone', '-alone', '+a', '+b', '-a', '-b', '+write', '-write']);
});

it('status and progress are shown while the call runs, and resolve when they were delivered', async () => {
  const log: string[] = [];
  const tool: Tool = {
    ...toolNamed('work', 1),
    run: async (_invocation, context) => {
      await context?.status('Looking');
      log.push('delivered');
      await Promise.all([context?.progress(1, 3), context?.progress(2, 3), context?.status('Nearly')]);
      return { type: 'result', value: 'ok' };
    },
  };
  for await (const event of loop(new ScriptedModel(calls(['work', {}]), says('Done.')), [tool])) {
    if (event.type !== 'run-event' || !event.event.type.startsWith('tool.')) continue;
    const { id: _id, tool: _tool, ...data } = event.event.data as { id?: string; tool?: string };
    log.push(`${event.event.type} ${JSON.stringify(data)}`);
  }
  expect(log.slice(1, -1)).toEqual([
    'tool.progress {"status":"Looking"}',
    'delivered',
    // What is said faster than it is read becomes one event.
    'tool.progress {"progress":2,"total":3,"status":"Nearly"}',
  ]);
});

it('what a call tells after it has settled is not shown, although a sibling still runs, and waits for nobody', async () => {
  const gate = Promise.withResolvers<ToolOutcome>();
  let context: ToolContext | undefined;
  const tool: Tool = {
    ...toolNamed('work', 1),
    run: async (_invocation, given) => {
      context = given;
      return { type: 'result', value: 'ok' };
    },
  };
  const model = new ScriptedModel(calls(['work', {}], ['slow', {}]), says('Done.'));
  const events: ChatEvent[] = [];
  for await (const event of loop(model, [tool, toolNamed('slow', () => gate.promise)])) {
    events.push(event);
    if (event.type !== 'source') continue;
    await context?.status('Late');
    gate.resolve({ type: 'result', value: 'ok' });
  }
  expect(eventsOf(events, 'tool.progress')).toEqual([]);
  expect(eventsOf(events, 'tool.result')).toHaveLength(2);
});

it('a function that tells of progress without end is shown so many times', async () => {
  const tool: Tool = {
    ...toolNamed('work', 1),
    run: async (_invocation, context) => {
      for (let n = 0; n < progressEventsPerCall + 50; n++) await context?.progress(n);
      return { type: 'result', value: 'ok' };
    },
  };
  const events = await collect(loop(new ScriptedModel(calls(['work', {}]), says('Done.')), [tool]));
  expect(eventsOf(events, 'tool.progress')).toHaveLength(progressEventsPerCall);
});

const silent = (name: string, followUp: FollowUp) => toolNamed(name, (): ToolOutcome => ({ type: 'result', value: null, followUp }));

it('a silent function ends the run without another question, unless another call waits for a reply', async () => {
  const quiet = silent('quiet', { type: 'no-reply' });
  const alone = new ScriptedModel(calls(['quiet', {}]));
  const events = await collect(loop(alone, [quiet]));
  expect(alone.requests).toHaveLength(1);
  expect(events.at(-1)).toEqual({ type: 'finish', reason: 'stop' });
  expect(events.filter((event) => event.type === 'source')).toEqual([]);
  const beside = new ScriptedModel(calls(['quiet', {}], ['fine', {}]), says('Done.'));
  expect(textOfEvents(await collect(loop(beside, [quiet, toolNamed('fine', 1)])))).toBe('Done.');
});

it('a function that stops the run ends it after its round, whatever ran beside it', async () => {
  const stopping: Tool = {
    ...toolNamed('leave', 1),
    run: async (_invocation, context) => {
      context?.stop();
      return { type: 'result', value: 'bye' };
    },
  };
  for (const tool of [stopping, silent('leave', { type: 'stop' })]) {
    const model = new ScriptedModel(calls(['leave', {}], ['fine', {}]));
    const events = await collect(loop(model, [tool, toolNamed('fine', 1)]));
    expect(model.requests).toHaveLength(1);
    expect(eventsOf(events, 'tool.result')).toHaveLength(2);
    expect(events.at(-1)).toEqual({ type: 'finish', reason: 'stop' });
  }
});

it('a function may end the run by its failure; its siblings are ended with it', async () => {
  let siblingSignal: AbortSignal | undefined;
  const sibling = toolNamed('sibling', ({ signal }) => {
    siblingSignal = signal;
    return new Promise(() => undefined);
  });
  const fatal = toolNamed('fatal', () => Promise.reject(new Error('x')), { onError: 'abort' });
  const run = collect(loop(new ScriptedModel(calls(['fatal', {}], ['sibling', {}])), [fatal, sibling]));
  await expect(run).rejects.toMatchObject({ code: 'tool_failed' });
  expect(siblingSignal?.aborted).toBe(true);
});

it('a gate is asked for each call between its check and its start, and what only reads runs meanwhile', async () => {
  const asked: ApprovalRequest[] = [];
  const decision = Promise.withResolvers<ApprovalDecision>();
  const approvals = {
    decide: async (request: ApprovalRequest): Promise<ApprovalDecision> => {
      asked.push(request);
      if (request.tool.spec.name !== 'pay') return { type: 'approved' };
      request.emit({ type: 'approval.request', data: { id: request.callId, tool: 'pay', args: {}, server: 'bank' } });
      return decision.promise;
    },
    recheck: async () => undefined,
  };
  const ran: unknown[] = [];
  const tool = (name: string, options: Partial<Tool> = {}) =>
    toolNamed(
      name,
      ({ args }) => {
        ran.push([name, args]);
        return { type: 'result', value: name };
      },
      { ...numbered, ...options },
    );
  const turn = calls(['pay', { n: 'x' }], ['pay', { n: 1 }], ['look', { n: 2 }], ['note', { n: 3 }]);
  const model = new ScriptedModel(turn, says('Done.'));
  const tools = [tool('pay'), tool('look', reading), tool('note')];
  const run = collect(loop(model, tools, { settings: callSettings({ approvals }) }));
  await waitFor(() => expect(ran).toEqual([['look', { n: 2 }]]));
  decision.resolve({ type: 'approved', args: { n: '7' } });
  await run;
  // Damaged arguments are nobody's decision.
  expect(asked.map(({ tool: { spec }, args }) => [spec.name, args])).toEqual([
    ['pay', { n: 1 }],
    ['look', { n: 2 }],
    ['note', { n: 3 }],
  ]);
  expect(ran.slice(1)).toEqual([
    ['pay', { n: 7 }],
    ['note', { n: 3 }],
  ]);
  expect(resultsBefore(model, 1).slice(1)).toEqual(['pay', 'look', 'note']);
});

it('calls that wait for approval hold no place among those that run', async () => {
  const later = Promise.withResolvers<ApprovalDecision>();
  const approvals = {
    decide: async ({ args }: ApprovalRequest) => (args['n'] === 99 ? { type: 'approved' as const } : later.promise),
    recheck: async () => undefined,
  };
  const ran: unknown[] = [];
  const tool = toolNamed(
    'pay',
    ({ args }) => {
      ran.push(args['n']);
      return { type: 'result', value: 1 };
    },
    { ...numbered, isParallel: true },
  );
  const waiting = Array.from({ length: limits.parallelToolCalls }, (_, n): [string, unknown] => ['pay', { n }]);
  const model = new ScriptedModel(calls(...waiting, ['pay', { n: 99 }]), says('Done.'));
  const run = collect(loop(model, [tool], { settings: callSettings({ approvals }) }));
  await waitFor(() => expect(ran).toEqual([99]));
  later.resolve({ type: 'approved' });
  await run;
  expect(ran).toHaveLength(limits.parallelToolCalls + 1);
});

it.each<[string, () => Promise<ApprovalDecision>, object]>([
  [
    'refuses',
    async () => ({ type: 'refused', code: 'approval_rejected', message: 'Not today.' }),
    { code: 'approval_rejected', message: 'Not today.' },
  ],
  ['approves arguments that do not fit', async () => ({ type: 'approved', args: { n: 'x' } }), { code: 'args_invalid' }],
  [
    'fails',
    async () => Promise.reject(new Error('secret')),
    { code: 'tool_internal_error', message: expect.not.stringContaining('secret') },
  ],
])('a gate that %s keeps the call from running, and the model is told', async (_name, decide, error) => {
  const run = vi.fn();
  const tool = toolNamed(
    'pay',
    () => {
      run();
      return { type: 'result', value: 1 };
    },
    numbered,
  );
  const model = new ScriptedModel(calls(['pay', { n: 1 }]), says('Done.'));
  const events = await collect(loop(model, [tool], { settings: callSettings({ approvals: { decide, recheck: async () => undefined } }) }));
  expect(run).not.toHaveBeenCalled();
  expect(eventsOf(events, 'tool.result')).toMatchObject([{ error }]);
});

it('a cached result serves equal calls of the same caller for its time, and is marked', async () => {
  let time = 0;
  const run = vi.fn((): ToolOutcome => ({ type: 'result', value: { at: time } }));
  const tool = toolNamed('look', run, { ...numbered, cacheTtlMs: 1_000 });
  const cache = createResultCache(() => time);
  const ask = async (callerId: string, args: object): Promise<ChatEvent[]> => {
    const caller = { id: callerId, role: 'user', isOpen: false } as const;
    const settings = callSettings({ cache, run: runContext({ caller }), now: () => time });
    return collect(loop(new ScriptedModel(calls(['look', args]), says('Done.')), [tool], { settings }));
  };
  await ask('ann', { n: 1 });
  expect(eventsOf(await ask('ann', { n: '1' }), 'tool.result')).toMatchObject([{ response: { at: 0 }, cached: true }]);
  expect(run).toHaveBeenCalledTimes(1);
  await ask('bob', { n: 1 });
  await ask('ann', { n: 2 });
  expect(run).toHaveBeenCalledTimes(3);
  time = 1_000;
  expect(eventsOf(await ask('ann', { n: 1 }), 'tool.result')).toMatchObject([{ response: { at: 1_000 } }]);
  expect(run).toHaveBeenCalledTimes(4);
});

it('failures and functions without a time are never cached', async () => {
  const cache = createResultCache(() => 0);
  const failing = vi.fn((): ToolOutcome => ({ type: 'error', code: 'tool_error', message: 'no' }));
  const plain = vi.fn((): ToolOutcome => ({ type: 'result', value: 1 }));
  const tools = [toolNamed('failing', failing, { cacheTtlMs: 1_000 }), toolNamed('plain', plain)];
  for (let run = 0; run < 2; run++) {
    const model = new ScriptedModel(calls(['failing', {}], ['plain', {}]), says('Done.'));
    await collect(loop(model, tools, { settings: callSettings({ cache }) }));
  }
  expect([failing.mock.calls.length, plain.mock.calls.length]).toEqual([2, 2]);
});

it.each([
  ['before', ['ending', 'slow']],
  ['behind', ['slow', 'ending']],
])('a call that ends the run ends it at once, also where it stands %s one that still runs [S2-13, S2-14, S0-13]', async (_, order) => {
  const never = new Promise<ToolOutcome>(() => undefined);
  const signals: AbortSignal[] = [];
  const slow: Tool = {
    ...toolNamed('slow', 1, { isParallel: true }),
    run: ({ signal }) => {
      signals.push(signal);
      return never;
    },
  };
  const fails = async (): Promise<ToolOutcome> => {
    await new Promise((resolve) => setImmediate(resolve));
    throw new ToolError('The pump is on fire.');
  };
  const ending = toolNamed('ending', fails, { isParallel: true, onError: 'abort' });
  const model = new ScriptedModel(calls(...order.map((name): [string, unknown] => [name, {}])));
  await expect(collect(loop(model, [slow, ending]))).rejects.toThrow("The tool 'ending' ended the run: The pump is on fire.");
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
});
