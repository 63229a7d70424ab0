import { expect, it } from 'vitest';
import { timesOf } from '../../src/console/pages/runs/run-times.ts';
import { stepsOf } from '../../src/console/pages/runs/steps.ts';
import type { RunEvent } from '../../src/console/pages/runs/steps.ts';

const created = '2026-01-01T00:00:00.000Z';
const at = (ms: number): string => new Date(Date.parse(created) + ms).toISOString();
const event = (ms: number, type: string, data: RunEvent['data'] = {}): RunEvent => ({ type, time: at(ms), data });
const stepsAt = (events: RunEvent[], status: 'running' | 'completed' = 'completed') => stepsOf({ created, events, status });

it('what goes on side by side counts once for each kind, and people who are waited for are no work of a function', () => {
  const steps = stepsAt([
    event(0, 'model.request', { question: 1 }),
    event(100, 'model.response', { question: 1 }),
    event(100, 'tool.call', { id: 'a', tool: 'a' }),
    event(100, 'tool.call', { id: 'b', tool: 'b' }),
    event(150, 'tool.result', { id: 'a', tool: 'a', duration_ms: 50 }),
    event(180, 'tool.result', { id: 'b', tool: 'b', duration_ms: 80 }),
    event(200, 'tool.call', { id: 'c', tool: 'c' }),
    event(200, 'approval.request', { id: 'c', tool: 'c' }),
    event(900, 'approval.response', { id: 'c', tool: 'c', decision: 'approve' }),
    event(910, 'tool.result', { id: 'c', tool: 'c', duration_ms: 10 }),
  ]);
  expect(timesOf(steps, 1_000)).toEqual({ models: 100, functions: 90, people: 700 });
});

it('an assistant counts by what happens within it, and what is running until now', () => {
  const steps = stepsAt(
    [
      event(0, 'tool.call', { id: 'a', tool: 'scribe' }),
      event(10, 'model.request', { question: 1, within: 'a' }),
      event(60, 'model.response', { question: 1 }),
      event(60, 'tool.call', { id: 'a.1', tool: 'now', within: 'a' }),
    ],
    'running',
  );
  expect(timesOf(steps, 100)).toEqual({ models: 50, functions: 40, people: 0 });
  expect(steps.map(({ depth, innerCount }) => [depth, innerCount])).toEqual([
    [0, 2],
    [1, 0],
    [1, 0],
  ]);
});

it('a call waits for its turn where others run before it, and not where the clock alone says so', () => {
  const waitsIn = (firstEnds: number): number[] =>
    stepsAt([
      event(0, 'tool.call', { id: 'a', tool: 'write' }),
      ...(firstEnds < 100 ? [event(firstEnds, 'tool.result', { id: 'a', tool: 'write', duration_ms: firstEnds })] : []),
      event(100, 'tool.call', { id: 'b', tool: 'write' }),
      ...(firstEnds < 100 ? [] : [event(firstEnds, 'tool.result', { id: 'a', tool: 'write', duration_ms: firstEnds })]),
      event(350, 'tool.result', { id: 'b', tool: 'write', duration_ms: 50 }),
    ]).map(({ waits }) => waits.length);
  expect(waitsIn(300)).toEqual([0, 1]);
  expect(waitsIn(90)).toEqual([0, 0]);
});

it('a call that an id names twice, and a result without its call, are steps of their own', () => {
  const steps = stepsAt([
    event(0, 'tool.call', { id: 'a', tool: 'now' }),
    event(5, 'tool.result', { id: 'a', tool: 'now', duration_ms: 5 }),
    event(10, 'tool.call', { id: 'a', tool: 'now' }),
    event(15, 'tool.result', { id: 'a', tool: 'now', duration_ms: 5 }),
    event(20, 'tool.result', { id: 'lost', tool: 'now', duration_ms: 5 }),
  ]);
  expect(steps.map(({ start, end }) => [start, end])).toEqual([
    [0, 5],
    [10, 15],
    [20, 20],
  ]);
});

it('what a run running has waited for since, and what has ended with the run', () => {
  const events = [event(0, 'tool.call', { id: 'a', tool: 'pay' }), event(10, 'approval.request', { id: 'a', tool: 'pay' })];
  expect(stepsAt(events, 'running')[0]).toMatchObject({ end: undefined, waits: [{ kind: 'person', start: 10, end: Infinity }] });
  expect(stepsAt([...events, event(50, 'run.end', { status: 'cancelled' })])[0]).toMatchObject({
    end: 50,
    waits: [{ start: 10, end: 50 }],
  });
});
