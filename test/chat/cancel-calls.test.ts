import { expect, it, vi } from 'vitest';
import type { ChatEvent } from '../../src/core/chat/chat.ts';
import type { ApprovalDecision, ApprovalRequest } from '../../src/core/tools/approval-gate.ts';
import type { Tool, ToolContext, ToolInvocation, ToolOutcome } from '../../src/core/tools/tool.ts';
import { runContext, collect, eventsOf, textOfEvents, toolNamed } from '../_support/tools.ts';
import { calls, says, ScriptedModel } from '../_support/scripted-model.ts';
import { scriptedRegistry } from './call-registry-fixture.ts';
import { callSettings, loop, runLoop, numbered, resultsBefore } from './loop-fixture.ts';
import { waitFor } from '../_support/wait-for.ts';

/** A call that says when it has begun and then ignores everything. */
function hanging(name: string, options: Partial<Tool> = {}) {
  const begun = Promise.withResolvers<ToolInvocation>();
  const tool = toolNamed(
    name,
    (invocation) => {
      begun.resolve(invocation);
      return new Promise<ToolOutcome>(() => undefined);
    },
    options,
  );
  return { tool, begun: begun.promise };
}

function idsOf(events: readonly ChatEvent[]): string[] {
  return eventsOf(events, 'tool.call').map((data) => String(data['id']));
}

it('cancels one running call, continues its sibling and the run, and tells the model what is known', async () => {
  const calling = scriptedRegistry();
  const { tool, begun } = hanging('slow');
  const model = new ScriptedModel(calls(['slow', {}], ['fine', {}]), says('Done.'));
  const settings = callSettings({ run: runContext({ calls: calling }) });
  const run = collect(loop(model, [tool, toolNamed('fine', 'ok')], { settings }));
  const { callId, signal } = await begun;
  calling.cancel(callId);
  const events = await run;
  expect(signal.aborted).toBe(true);
  expect(eventsOf(events, 'tool.result')).toMatchObject([
    { id: callId, error: { code: 'outcome_unknown', state: 'outcome_unknown' } },
    { response: 'ok' },
  ]);
  expect(resultsBefore(model, 1)[0]).toContain('It is not known whether it took effect');
  expect(textOfEvents(events)).toBe('Done.');
  expect(calling.size).toBe(0);
});

it('cancels only calls that have not settled', async () => {
  const calling = scriptedRegistry();
  const { tool, begun } = hanging('slow');
  const model = new ScriptedModel(calls(['no_such', {}], ['fine', {}], ['slow', {}]), says('Done.'));
  const events: ChatEvent[] = [];
  for await (const event of loop(model, [tool, toolNamed('fine', 1)], {
    settings: callSettings({ run: runContext({ calls: calling }) }),
  })) {
    events.push(event);
    if (eventsOf(events, 'tool.result').length !== 2 || event.type === 'source') continue;
    const { callId } = await begun;
    expect(calling.size).toBe(1);
    calling.cancel(callId);
  }
  expect(eventsOf(events, 'tool.result')).toHaveLength(3);
  expect(calling.size).toBe(0);
});

it('reports that a cancelled read-only call has changed nothing', async () => {
  const calling = scriptedRegistry();
  const { tool, begun } = hanging('look', { isReadOnly: true });
  const model = new ScriptedModel(calls(['look', {}]), says('Done.'));
  const run = collect(loop(model, [tool], { settings: callSettings({ run: runContext({ calls: calling }) }) }));
  calling.cancel((await begun).callId);
  expect(eventsOf(await run, 'tool.result')).toMatchObject([{ error: { code: 'tool_cancelled', state: 'cancelled' } }]);
});

it('cancels a call that waits for a sequential one before it starts', async () => {
  const calling = scriptedRegistry();
  const first = Promise.withResolvers<ToolOutcome>();
  const started: string[] = [];
  const alone = toolNamed('alone', () => first.promise, { isSequential: true });
  const second = toolNamed('second', () => {
    started.push('second');
    return { type: 'result', value: 2 };
  });
  const model = new ScriptedModel(calls(['alone', {}], ['second', {}]), says('Done.'));
  const events: ChatEvent[] = [];
  const run = (async () => {
    for await (const event of loop(model, [alone, second], { settings: callSettings({ run: runContext({ calls: calling }) }) }))
      events.push(event);
  })();
  await waitFor(() => expect(eventsOf(events, 'tool.call')).toHaveLength(2));
  calling.cancel(idsOf(events)[1] ?? '');
  first.resolve({ type: 'result', value: 1 });
  await run;
  expect(started).toEqual([]);
  // Told at once, before the call in front of it has ended.
  expect(eventsOf(events, 'tool.result')).toMatchObject([
    { tool: 'second', error: { code: 'tool_cancelled', state: 'not_started' } },
    { tool: 'alone', response: 1 },
  ]);
});

it('lets other calls run when one is cancelled before its approval was requested', async () => {
  const calling = scriptedRegistry();
  const asking = Promise.withResolvers<ApprovalRequest>();
  const approvals = {
    decide(request: ApprovalRequest): Promise<ApprovalDecision> {
      if (request.tool.spec.name !== 'pay') return Promise.resolve({ type: 'approved' });
      asking.resolve(request);
      return new Promise(() => undefined);
    },
    recheck: async () => undefined,
  };
  const begun = Promise.withResolvers<void>();
  const slow = Promise.withResolvers<ToolOutcome>();
  const write = toolNamed('write', () => {
    begun.resolve();
    return slow.promise;
  });
  const model = new ScriptedModel(calls(['pay', {}], ['write', {}], ['note', {}]), says('Done.'));
  const settings = callSettings({ approvals, run: runContext({ calls: calling }) });
  const run = collect(loop(model, [toolNamed('pay', 1), write, toolNamed('note', 'ok')], { settings }));
  const request = await asking.promise;
  calling.cancel(request.callId);
  await begun.promise;
  request.emit({ type: 'approval.request', data: { id: request.callId, tool: 'pay', args: {}, server: 'bank' } });
  slow.resolve({ type: 'result', value: 'ok' });
  expect(eventsOf(await run, 'tool.result')).toMatchObject([{ error: { state: 'not_started' } }, { response: 'ok' }, { response: 'ok' }]);
});

it('waits for a critical section before it cancels, and keeps a result that comes with its end', async () => {
  const calling = scriptedRegistry();
  const gate = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<string>();
  const tool: Tool = {
    ...toolNamed('pay', 1),
    run: async (invocation, context) => {
      await (context as ToolContext).critical(() => {
        begun.resolve(invocation.callId);
        return gate.promise;
      });
      return { type: 'result', value: 'paid' };
    },
  };
  const model = new ScriptedModel(calls(['pay', {}]), says('Done.'));
  const run = collect(loop(model, [tool], { settings: callSettings({ run: runContext({ calls: calling }) }) }));
  calling.cancel(await begun.promise);
  gate.resolve();
  expect(eventsOf(await run, 'tool.result')).toMatchObject([{ response: 'paid' }]);
});

it('reports every call before the run ends when the client disconnects, and starts nothing else', async () => {
  const leave = new AbortController();
  const { tool, begun } = hanging('slow', { isSequential: true });
  const later = vi.fn();
  const next = toolNamed('next', () => {
    later();
    return { type: 'result', value: 1 };
  });
  const model = new ScriptedModel(calls(['slow', {}], ['next', {}]));
  const events: ChatEvent[] = [];
  const settings = callSettings({ run: runContext({ signal: leave.signal }) });
  const run = (async () => {
    for await (const event of loop(model, [tool, next], { settings })) events.push(event);
  })();
  const { signal } = await begun;
  leave.abort(new Error('left'));
  await expect(run).rejects.toThrow('left');
  expect(signal.aborted).toBe(true);
  expect(later).not.toHaveBeenCalled();
  expect(model.requests).toHaveLength(1);
  const states = eventsOf(events, 'tool.result').map(({ tool: name, error }) => [name, (error as { state: string }).state]);
  expect(Object.fromEntries(states)).toEqual({ slow: 'outcome_unknown', next: 'not_started' });
});

it('ends the running calls when the consumer stops reading', async () => {
  const { tool, begun } = hanging('slow', { isReadOnly: true });
  const model = new ScriptedModel(calls(['quick', {}], ['slow', {}]));
  const reading = runLoop(model, [tool, toolNamed('quick', 1, { isReadOnly: true })], async (events) => {
    if (eventsOf(events, 'tool.result').length === 0) return;
    await begun;
    throw new Error('gone');
  });
  await expect(reading).rejects.toThrow('gone');
  expect((await begun).signal.aborted).toBe(true);
});

it('repeats a call of unknown outcome neither in the next round nor in the same one, unless it only reads', async () => {
  const attempts: string[] = [];
  const unsure = (name: string, options: Partial<Tool>) =>
    toolNamed(
      name,
      ({ args }) => {
        attempts.push(`${name} ${JSON.stringify(args)}`);
        return { type: 'error', code: 'client_disconnected', message: 'The browser has left.' };
      },
      { ...numbered, ...options },
    );
  const tools = [unsure('pay', { isSequential: true }), unsure('look', { isReadOnly: true })];
  const turns = [
    calls(['pay', { n: 1 }], ['pay', { n: 1 }], ['pay', { n: 2 }]),
    calls(['pay', { n: 1 }]),
    calls(['look', {}]),
    calls(['look', {}]),
  ];
  const model = new ScriptedModel(...turns, says('Done.'));
  const events = await collect(loop(model, tools));
  expect(attempts).toEqual(['pay {"n":1}', 'pay {"n":2}', 'look {}', 'look {}']);
  expect(resultsBefore(model, 1)[1]).toContain('may have succeeded, so it was not repeated');
  expect(eventsOf(events, 'tool.result')[3]).toMatchObject({ error: { code: 'outcome_unknown' } });
});
