import { expect, it, vi } from 'vitest';
import { limits } from '../../src/core/limits.ts';
import { calls, says, ScriptedModel } from '../_support/scripted-model.ts';
import { collect, eventsOf, textOfEvents, toolNamed } from '../_support/tools.ts';
import { callSettings, loop, numbered, resultsBefore } from './loop-fixture.ts';
import { reasksInARow, toolPhaseMs } from '../../src/chat/loop/round-budget.ts';

it('runs the same call twice, answers the third with an explanation, and still runs other arguments [S1-26]', async () => {
  const seen: unknown[] = [];
  const tool = toolNamed(
    'look',
    ({ args }) => {
      seen.push(args);
      return { type: 'result', value: 'nothing' };
    },
    { parameters: { type: 'object', properties: { a: { type: 'integer' }, b: { type: 'integer' } } } },
  );
  const same = [{ a: 1, b: 2 }, { b: 2, a: 1 }, { a: '1', b: 2 }, { a: 1 }];
  const model = new ScriptedModel(...same.map((args) => calls(['look', args])), says('Done.'));
  const events = await collect(loop(model, [tool]));
  expect(seen).toEqual([{ a: 1, b: 2 }, { b: 2, a: 1 }, { a: 1 }]);
  expect(eventsOf(events, 'tool.result')[2]).toMatchObject({ tool: 'look', error: { code: 'duplicate_call_blocked' } });
  expect(resultsBefore(model, 3)[2]).toContain('exactly these arguments');
  expect(textOfEvents(events)).toBe('Done.');
});

it('lets a model poll a job while each result differs [S1-26]', async () => {
  const states = ['10 %', '40 %', '70 %', '100 %'];
  const asked = vi.fn(() => states.shift() ?? 'done');
  const job = toolNamed('get_job_status', () => ({ type: 'result', value: asked() }));
  const model = new ScriptedModel(...Array.from({ length: 5 }, () => calls(['get_job_status', {}])), says('It is done.'));
  const events = await collect(loop(model, [job]));
  expect(resultsBefore(model, 5)).toEqual(['10 %', '40 %', '70 %', '100 %', 'done']);
  expect(eventsOf(events, 'limit.reached')).toEqual([]);
  expect(textOfEvents(events)).toBe('It is done.');
});

it('stops polling a job two calls after its state stops changing, and at the latest after all rounds', async () => {
  const states = ['queued', 'running', 'running', 'running'];
  const job = toolNamed('state', () => ({ type: 'result', value: states.shift() ?? 'running' }));
  const stuck = new ScriptedModel(...Array.from({ length: 4 }, () => calls(['state', {}])), says('Still running.'));
  const events = await collect(loop(stuck, [job]));
  expect(eventsOf(events, 'tool.result').map((data) => data['response'])).toEqual(['queued', 'running', 'running', undefined]);

  let ticks = 0;
  const clock = toolNamed('ticks', () => ({ type: 'result', value: ++ticks }));
  const endless = new ScriptedModel(...Array.from({ length: 6 }, () => calls(['ticks', {}])), says('Six.'));
  expect(eventsOf(await collect(loop(endless, [clock], { maxRounds: 6 })), 'limit.reached')).toEqual([{ limit: 'tool_rounds', value: 6 }]);
});

it('does not count failures as progress, however their messages differ', async () => {
  let faults = 0;
  const broken = toolNamed('broken', () => Promise.reject(new Error('no')));
  const settings = callSettings({ newFaultId: () => `fault-${++faults}` });
  const model = new ScriptedModel(...Array.from({ length: 3 }, () => calls(['broken', {}])), says('It is broken.'));
  const events = await collect(loop(model, [broken], { settings }));
  expect(eventsOf(events, 'tool.result').map((data) => data['error'])).toMatchObject([
    { code: 'tool_internal_error' },
    { code: 'tool_internal_error' },
    { code: 'duplicate_call_blocked' },
  ]);
});

it('lets a model read again after a change, but repeats no other calls', async () => {
  const read = toolNamed('read', 'same', { isReadOnly: true });
  const pay = toolNamed('pay', 'paid');
  const write = toolNamed('write', ({ args }) => ({ type: 'result', value: `wrote ${String(args['n'])}` }), numbered);
  const round = (n: number) => calls(['read', {}], ['pay', {}], ['write', { n }]);
  const model = new ScriptedModel(round(1), round(2), round(3), round(4), says('Done.'));
  const results = eventsOf(await collect(loop(model, [read, pay, write])), 'tool.result');
  expect(results.filter(({ tool, error }) => tool === 'read' && error === undefined)).toHaveLength(4);
  expect(results.filter(({ tool, error }) => tool === 'pay' && error === undefined)).toHaveLength(2);
});

it('ends with an answer, long before the last round, when a model keeps repeating one call', async () => {
  const turns = Array.from({ length: 5 }, () => calls(['look', {}]));
  const model = new ScriptedModel(...turns, says('That is it.'));
  const events = await collect(loop(model, [toolNamed('look', 1)], { maxRounds: 100 }));
  expect(eventsOf(events, 'limit.reached')).toEqual([{ limit: 'reasks', value: reasksInARow }]);
  expect(model.requests.at(-1)?.tools).toEqual([]);
  expect(textOfEvents(events)).toBe('That is it.');
});

it('requests damaged calls again at most twice in a row, without counting a round', async () => {
  const run = vi.fn();
  const tool = toolNamed(
    'add',
    (invocation) => {
      run(invocation.args);
      return { type: 'result', value: 'done' };
    },
    numbered,
  );
  const bad = (n: string) => calls(['add', { n }]);
  const model = new ScriptedModel(bad('one'), calls(['ad', {}]), calls(['add', { n: 1 }]), bad('two'), says('Done.'));
  const events = await collect(loop(model, [tool], { maxRounds: 2 }));
  expect(run.mock.calls).toEqual([[{ n: 1 }]]);
  expect(resultsBefore(model, 1)).toEqual([`{"error":"Invalid arguments for 'add': n: must be integer."}`]);
  // What it wrote is what it has to correct.
  expect(model.requests[1]?.messages[1]).toMatchObject({ toolCalls: [{ arguments: '{"n":"one"}' }] });
  expect(eventsOf(events, 'limit.reached')).toEqual([]);
  expect(textOfEvents(events)).toBe('Done.');
});

it('answers without tools after three damaged rounds in a row', async () => {
  const model = new ScriptedModel(calls(['x', {}]), calls(['y', {}]), calls(['z', {}]), says('I cannot.'));
  const events = await collect(loop(model, [toolNamed('add', 1)]));
  expect(eventsOf(events, 'limit.reached')).toEqual([{ limit: 'reasks', value: 2 }]);
  expect(model.requests).toHaveLength(4);
  expect(textOfEvents(events)).toBe('I cannot.');
});

it('lets a damaged call be repaired in simple mode, and makes no call after the first valid one', async () => {
  const model = new ScriptedModel(calls(['add', { n: 'one' }]), calls(['add', { n: 1 }], ['add', { n: 2 }]), says('Done.'));
  const events = await collect(
    loop(model, [toolNamed('add', 'ok', numbered)], { maxRounds: 1, choice: { path: 'native', mayFallBack: false, isSingleCall: true } }),
  );
  expect(eventsOf(events, 'tool.result').map((data) => data['response'])).toEqual([undefined, 'ok']);
  expect(model.requests[2]?.tools).toEqual([]);
  expect(eventsOf(events, 'limit.reached')).toEqual([]);
});

it('refuses calls above the limit of a round with an event, and accepts them in the next', async () => {
  const many = Array.from({ length: limits.callsPerRound + 1 }, (_, n): [string, unknown] => ['add', { n }]);
  const model = new ScriptedModel(calls(...many), calls(['add', { n: limits.callsPerRound }]), says('Done.'));
  const events = await collect(loop(model, [toolNamed('add', 'ok', numbered)]));
  expect(eventsOf(events, 'limit.reached')).toEqual([{ limit: 'calls_per_round', value: limits.callsPerRound }]);
  expect(resultsBefore(model, 1).at(-1)).toContain('Call it again in the next turn');
  expect(resultsBefore(model, 2).at(-1)).toBe('ok');
});

it('refuses calls above the limit of a run, and answers without tools', async () => {
  const rounds = limits.callsPerRun / limits.callsPerRound;
  const turn = (round: number) =>
    calls(...Array.from({ length: limits.callsPerRound }, (_, n): [string, unknown] => ['add', { n: round * 1_000 + n }]));
  const first = calls(['add', { n: -1 }]);
  const model = new ScriptedModel(first, ...Array.from({ length: rounds }, (_, round) => turn(round)), says('Done.'));
  const events = await collect(loop(model, [toolNamed('add', 'ok', numbered)], { maxRounds: 100 }));
  const reached = { limit: 'calls_per_run', value: limits.callsPerRun };
  expect(eventsOf(events, 'limit.reached')).toEqual([reached, reached]);
  expect(eventsOf(events, 'tool.result').filter((data) => data['response'] === 'ok')).toHaveLength(limits.callsPerRun);
  expect(textOfEvents(events)).toBe('Done.');
});

it('answers without tools when the time for calls is over', async () => {
  let time = 0;
  const slow = toolNamed('add', () => {
    time += toolPhaseMs;
    return { type: 'result', value: 'ok' };
  });
  const model = new ScriptedModel(calls(['add', {}]), says('Done.'));
  const events = await collect(loop(model, [slow], { settings: callSettings({ now: () => time }) }));
  expect(eventsOf(events, 'limit.reached')).toEqual([{ limit: 'tool_phase_ms', value: toolPhaseMs }]);
  expect(model.requests[1]?.tools).toEqual([]);
});

it('says so when the model gives no answer in the end', async () => {
  const model = new ScriptedModel(calls(['add', {}]), calls(['add', {}]));
  const events = await collect(loop(model, [toolNamed('add', 1)], { maxRounds: 1 }));
  expect(textOfEvents(events)).toBe('The model gave no answer after its last tool calls.');
  expect(events.at(-1)).toEqual({ type: 'finish', reason: 'stop' });
});
