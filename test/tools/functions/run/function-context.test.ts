import { expect, it } from 'vitest';
import { runRound } from '../../../../src/chat/tool-calls/run-round.ts';
import { defineTool } from '../../../../src/tools/functions/define/define-tool.ts';
import { createFunctionStates, stateTotalCharacters } from '../../../../src/tools/functions/run/function-state.ts';
import type { FunctionContext, ToolDefinition } from '../../../../src/tools/functions/define/function-definition.ts';
import { createFunctionTool } from '../../../../src/tools/functions/run/function-tool.ts';
import type { Tool } from '../../../../src/core/tools/tool.ts';
import type { ToolCallResult } from '../../../../src/chat/tool-calls/tool-call-result.ts';
import type { ChatEvent } from '../../../../src/core/chat/chat.ts';
import { pullFrom } from '../../../_support/emit-and-pull.ts';
import { limits } from '../../../../src/core/limits.ts';
import { callSettings } from '../../../chat/loop-fixture.ts';
import { runContext, toolMap } from '../../../_support/tools.ts';

type Execute = (args: unknown, context: FunctionContext) => unknown;

function functionTool(execute: Execute, options: Partial<ToolDefinition> = {}, states = createFunctionStates()): Tool {
  const definition = defineTool({ name: 'f', description: 'f', parameters: { type: 'object' }, execute, ...options });
  const module = { path: 'f.js', exports: {}, sources: new Map<string, string>() };
  const entry = { definition, label: 'f', server: 'functions', module, version: undefined };
  return createFunctionTool(entry, { offeredName: 'f', states, folder: '.' });
}

const call = { id: 'c1', name: 'f', arguments: '{}' };

/** A round with one call, and the way to cancel it. */
function round(execute: Execute, options: Partial<ToolDefinition> = {}) {
  let cancel = (): void => undefined;
  const calls = {
    register: (_: string, cancelCall: () => void) => {
      cancel = cancelCall;
      return () => undefined;
    },
  };
  const tools = toolMap(functionTool(execute, options));
  const events = pullFrom<ChatEvent, ToolCallResult[]>((emit) =>
    runRound([{ call }], { tools, settings: callSettings({ run: runContext({ calls }) }), scope: {} }, emit),
  );
  return { events, cancel: () => cancel() };
}

it('status and progress show while the function runs, and resolve only when that was delivered [S3-7]', async () => {
  const said: string[] = [];
  const { events } = round(async (_, { status, progress }) => {
    await status('asks the weather');
    said.push('status');
    await progress(1, 2);
    said.push('progress');
    return said.length;
  });
  const next = async () => {
    const { value } = await events.next();
    return { event: value !== undefined && 'type' in value && value.type === 'run-event' ? value.event : undefined, said: [...said] };
  };
  expect((await next()).event?.type).toBe('tool.call');
  expect(await next()).toEqual({ event: { type: 'tool.progress', data: { id: 'c1', tool: 'f', status: 'asks the weather' } }, said: [] });
  expect(await next()).toEqual({
    event: { type: 'tool.progress', data: { id: 'c1', tool: 'f', progress: 1, total: 2 } },
    said: ['status'],
  });
  expect(await next()).toMatchObject({ event: { type: 'tool.result', data: { response: 2 } }, said: ['status', 'progress'] });
});

it('a long call can be cancelled: its signal aborts, and it settles without waiting for the function [S0-20, S3-8]', async () => {
  const { promise: begun, resolve: begin } = Promise.withResolvers<AbortSignal>();
  const { events, cancel } = round(async (_, { signal }) => {
    begin(signal);
    return new Promise(() => undefined);
  });
  await events.next();
  const result = events.next();
  const signal = await begun;
  cancel();
  expect((await result).value).toMatchObject({ event: { type: 'tool.result', data: { error: { code: 'outcome_unknown' } } } });
  expect(signal.aborted).toBe(true);
});

it('what happens inside critical is not interrupted: a cancellation waits until it is done [S3-9]', async () => {
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const { promise: paid, resolve: pay } = Promise.withResolvers<void>();
  const { events, cancel } = round(async (_, { critical, signal }) => {
    const wasAborted = await critical(async () => {
      begin();
      await paid;
      return signal.aborted;
    });
    return { wasAborted };
  });
  await events.next();
  const result = events.next();
  await begun;
  cancel();
  pay();
  expect((await result).value).toMatchObject({ event: { data: { response: { wasAborted: false } } } });
});

it('what is set after the call was ended is not kept', async () => {
  const states = createFunctionStates();
  const abort = new AbortController();
  const execute: Execute = (_, { state }) => {
    state.set('n', 1);
    abort.abort(new Error('too late'));
    return 'done';
  };
  const tool = functionTool(execute, {}, states);
  const run = runContext({ chatId: 'c' });
  await expect(tool.run({ callId: 'c', args: {}, run, signal: abort.signal, timeoutMs: 1 })).rejects.toThrow('too late');
  expect((await states.open(run)).get('n')).toBeUndefined();
});

it('nobody can be asked where there is no runtime', async () => {
  const tool = functionTool((_, { confirm }) => confirm('Sure?'));
  const run = runContext();
  await expect(tool.run({ callId: 'c', args: {}, run, signal: run.signal, timeoutMs: 1 })).rejects.toThrow('client_unavailable');
});

it.each<[unknown, unknown]>([
  [undefined, null],
  [{ at: new Date(0), skip: undefined }, { at: '1970-01-01T00:00:00.000Z' }],
  ['text', 'text'],
  [Number.NaN, null],
  [Number.POSITIVE_INFINITY, null],
])('a result is what JSON makes of it: %s', async (returned, value) => {
  const run = runContext();
  expect(await functionTool(() => returned).run({ callId: 'c', args: {}, run, signal: run.signal, timeoutMs: 1 })).toEqual({
    type: 'result',
    value,
  });
});

it('a result that JSON cannot hold is an error of the function', async () => {
  const run = runContext();
  const circle: Record<string, unknown> = {};
  circle['self'] = circle;
  for (const returned of [circle, () => 1, 10n, Symbol('x')]) {
    await expect(functionTool(() => returned).run({ callId: 'c', args: {}, run, signal: run.signal, timeoutMs: 1 })).rejects.toThrow(
      TypeError,
    );
  }
});

it('what chats remember is bounded: the ones that were not used for the longest time go first', async () => {
  const states = createFunctionStates();
  const stateOf = (chatId: string) => states.open(runContext({ chatId }));
  const big = 'x'.repeat(limits.stateCharacters - 10);
  const fitting = Math.floor(stateTotalCharacters / limits.stateCharacters);
  for (let chat = 0; chat <= fitting; chat += 1) {
    const state = await stateOf(String(chat));
    state.set('k', big);
    await state.commit();
  }
  expect([(await stateOf('0')).get('k'), (await stateOf('1')).get('k')?.toString().length]).toEqual([undefined, big.length]);
  const full = await stateOf('keys');
  for (let key = 0; key < limits.stateKeys; key += 1) full.set(String(key), key);
  expect(() => full.set('more', 1)).toThrow(/at most 100 keys/);
  full.set('0', undefined);
  full.set('more', 1);
  expect(full.get('more')).toBe(1);
});
