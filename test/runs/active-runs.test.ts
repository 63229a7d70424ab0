import { makeCallId } from '../../src/shared/text/call-ids.ts';
import { setImmediate as nextTick } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { call, executed, memoryContinuations, own, turnOf } from '../_support/continuations.ts';
import { memorySeals } from '../_support/memory-stores.ts';
import { memoryTranscripts } from '../_support/transcripts.ts';

import type { Caller } from '../../src/core/callers/caller.ts';
import { GatewayError } from '../../src/core/errors.ts';
import type { RunEnding } from '../../src/core/runs/run-log.ts';
import type { ModelBackend } from '../../src/core/models/model.ts';
import type { Tool, ToolOutcome } from '../../src/core/tools/tool.ts';
import { createCancellableCalls } from '../../src/runs/cancellable-calls.ts';
import { createActiveRuns } from '../../src/runs/active-runs.ts';
import { RunEnd } from '../../src/runs/running-runs.ts';
import type { ActiveRuns, ActiveRunsOptions } from '../../src/runs/active-runs.ts';
import type { StartedRun } from '../../src/runs/started-run.ts';
import type { Continuations } from '../../src/chat/suspend/continuations.ts';
import type { ChatEvent, ChatMessage } from '../../src/core/chat/chat.ts';
import { calls, finderOf, says, ScriptedModel, generatedBy } from '../_support/scripted-model.ts';
import type { ScriptStep } from '../_support/scripted-model.ts';
import { chatRequest, eventsOf, offering, textOfEvents, toolNamed } from '../_support/tools.ts';
import { StopReading } from '../../src/shared/async/emit.ts';

const ada: Caller = { id: 'ada', role: 'user', isOpen: false };
const bob: Caller = { id: 'bob', role: 'user', isOpen: false };
const admin: Caller = { id: 'admin', role: 'admin', isOpen: false };

function starterOf(turns: ScriptStep[][] | ModelBackend, ...tools: Tool[]): { runs: ActiveRuns; endings: RunEnding[] } {
  return startsWith({}, turns, ...tools);
}

function startsWith(
  { continuations = memoryContinuations({ now: Date.now }), ...options }: Partial<ActiveRunsOptions> & { continuations?: Continuations },
  turns: ScriptStep[][] | ModelBackend,
  ...tools: Tool[]
): { runs: ActiveRuns; endings: RunEnding[] } {
  const services: ActiveRunsOptions['services'] = {
    models: finderOf({ model: Array.isArray(turns) ? new ScriptedModel(...turns) : turns }),
    tools: offering(...tools),
    continuations,
    thoughtSeals: memorySeals(),
    transcripts: memoryTranscripts(),
    settings: {
      taskModel: undefined,
      taskModelExternal: undefined,
      selectionTemplate: '{{TOOLS}}',
      contextTemplate: '{{CONTEXT}}',
      functionCalling: 'native',
      maxToolRounds: 10,
      toolTimeoutMs: 5_000,
    },
    presets: { list: async () => [], find: async () => undefined },
    configs: { find: async () => undefined, save: async () => undefined },
    newCallId: makeCallId,
    now: Date.now,
  };
  const endings: RunEnding[] = [];
  const recorder = { record: () => undefined, end: (ending: RunEnding) => void endings.push(ending) };
  const log = { begin: () => recorder, resume: async () => recorder, find: async () => undefined };
  let runCount = 0;
  return { runs: createActiveRuns({ services, newRunId: () => `run-${++runCount}`, log, ...options }), endings };
}

/** A tool that ends only with its signal. */
function endless(): { tool: Tool; callId: Promise<string> } {
  const { promise: callId, resolve: begin } = Promise.withResolvers<string>();
  const tool = toolNamed('endless', ({ callId: id, signal }) => {
    begin(id);
    return new Promise<ToolOutcome>((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    });
  });
  return { tool, callId };
}

/** Which of them it is depends on what is known of the call. */
const cancelled: unknown = expect.stringMatching(/^(?:tool_cancelled|outcome_unknown)$/);

async function read(stream: StartedRun['stream']): Promise<ChatEvent[]> {
  const all: ChatEvent[] = [];
  await stream((events) => void all.push(...events));
  return all;
}

describe('cancelling a call', () => {
  it.each([ada, admin])('by $id ends this call, and the run goes on', async (caller) => {
    const { tool, callId } = endless();
    const { runs, endings } = starterOf(
      [calls(['endless', {}], ['quick', {}]), says('One was cancelled.')],
      tool,
      toolNamed('quick', 'done'),
    );
    const { run, stream } = runs.start(chatRequest(), { caller: ada, controller: new AbortController() });
    const told = read(stream);
    const id = await callId;
    expect(runs.cancelCall(run.runId, id, bob)).toBe(false);
    expect(runs.cancelCall(run.runId, 'other', ada)).toBe(false);
    expect(runs.cancelCall('run-9', id, ada)).toBe(false);
    expect(runs.cancelCall(run.runId, id, caller)).toBe(true);
    expect(runs.cancelCall(run.runId, id, caller)).toBe(false);
    expect(textOfEvents(await told)).toBe('One was cancelled.');
    expect(eventsOf(await told, 'tool.result')).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ error: expect.objectContaining({ code: cancelled }) as unknown }),
        expect.objectContaining({ response: 'done' }),
      ]),
    );
    expect(endings).toEqual([{ status: 'completed' }]);
    expect(runs.countRunning()).toBe(0);
  });
});

describe('the calls of a run', () => {
  it('are cancelled once each, also two of one id, and not after they have settled', () => {
    const registry = createCancellableCalls();
    const cancelled: string[] = [];
    const register = (id: string, name: string): (() => void) => registry.register(id, () => void cancelled.push(name));
    register('1', 'first');
    register('1', 'second');
    const settled = register('2', 'third');
    expect(registry.cancel('1')).toBe(true);
    expect(registry.cancel('1')).toBe(false);
    settled();
    settled();
    expect(registry.cancel('2')).toBe(false);
    expect(cancelled).toEqual(['first', 'second']);
  });
});

describe('the end of a run', () => {
  const never = new Promise(() => undefined);
  const started = (turns: ScriptStep[][] | ModelBackend) => {
    const { runs, endings } = starterOf(turns);
    const leave = new AbortController();
    return { ...runs.start(chatRequest(), { caller: ada, controller: leave }), runs, endings, leave };
  };

  it('is known for a run whose reader stops', async () => {
    const { stream, runs, endings } = started([says('Hello.')]);
    expect(runs.countRunning()).toBe(1);
    const enough = new StopReading();
    const stopping = stream(() => {
      throw enough;
    });
    await expect(stopping).rejects.toBe(enough);
    expect(runs.countRunning()).toBe(0);
    expect(endings).toMatchObject([{ status: 'cancelled', error: { code: 'run_cancelled' } }]);
  });

  it('comes once', async () => {
    const { stream, endings } = started([says('Hello.')]);
    await read(stream);
    expect(endings).toEqual([{ status: 'completed' }]);
  });

  it.each<[string, unknown, object]>([
    [
      'a client that left',
      new DOMException('The client disconnected', 'AbortError'),
      { status: 'cancelled', error: { message: 'The client disconnected.' } },
    ],
    [
      'a cancellation',
      new GatewayError('run_cancelled', 'Stop.'),
      { status: 'cancelled', error: { code: 'run_cancelled', message: 'Stop.' } },
    ],
    ['a shutdown', new GatewayError('server_shutting_down', 'Closed.'), { status: 'failed', error: { code: 'server_shutting_down' } }],
    ['a defect', new TypeError('CANARY'), { status: 'failed', error: { code: 'internal_error' } }],
  ])('says what %s was', async (_what, reason, ending) => {
    const { stream, endings, leave } = started([[{ type: 'text', text: 'He' }, never]]);
    const told = read(stream);
    leave.abort(reason);
    await expect(told).rejects.toBe(reason);
    expect(endings).toMatchObject([ending]);
    expect(JSON.stringify(endings)).not.toContain('CANARY');
  });

  it('is what ended it, whatever the backend says to that', async () => {
    const backend: ModelBackend = generatedBy(async function* ({ signal }) {
      yield { type: 'text', text: 'He' };
      while (!signal.aborted) await nextTick();
      throw new GatewayError('upstream_incomplete', 'The answer was cut.');
    });
    const { stream, run, runs, endings } = started(backend);
    const told = read(stream);
    runs.cancel(run.runId, ada);
    await expect(told).rejects.toMatchObject({ code: 'upstream_incomplete' });
    expect(endings).toMatchObject([{ status: 'cancelled', error: { code: 'run_cancelled' } }]);
  });

  it('of a deleted key is that of its runs, and it starts no other', async () => {
    const { stream, runs, endings } = started([[{ type: 'text', text: 'He' }, never]]);
    const told = read(stream);
    void runs.cancelAllOf('bob', 'deleted');
    expect(() => runs.start(chatRequest(), { caller: bob, controller: new AbortController() })).toThrow('The key was deleted');
    void runs.cancelAllOf('ada', 'deleted');
    await expect(told).rejects.toMatchObject({ code: 'run_cancelled' });
    expect(endings).toMatchObject([{ status: 'cancelled' }]);
    expect(runs.countRunning()).toBe(0);
  });
});

it('callbacks for the end of a run are called once, and later ones at once', () => {
  const end = new RunEnd();
  const called: string[] = [];
  end.whenOver(() => called.push('first'));
  end.whenOver(() => called.push('second'));
  expect(called).toEqual([]);
  end.reach();
  end.reach();
  end.whenOver(() => called.push('late'));
  expect(called).toEqual(['first', 'second', 'late']);
});

describe('long conversations that are answered at the same time', () => {
  const long = (characters: number) => chatRequest({ messages: [{ role: 'user', content: 'x'.repeat(characters) }] });
  const waits: ModelBackend = generatedBy(async function* ({ signal }) {
    yield { type: 'text', text: 'So far' };
    signal.throwIfAborted();
    await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
  });

  function holding(heldCharacters: number) {
    const { runs, endings } = startsWith({ heldCharacters }, waits);
    const failed: Record<string, unknown> = {};
    const begin = (name: string, characters: number, id = name.replace(/\d$/, '')): void => {
      const { stream } = runs.start(long(characters), { caller: { id, role: 'user', isOpen: false }, controller: new AbortController() });
      void read(stream).catch((error: unknown) => void (failed[name] = (error as GatewayError).code));
    };
    return { runs, endings, failed, begin };
  }

  it('are refused to whoever holds the most, and hold up nobody else', async () => {
    const { begin, failed, runs } = holding(12_000);
    begin('mallory1', 4_000);
    begin('mallory2', 4_000);
    expect(() => begin('mallory3', 4_000)).toThrow(expect.objectContaining({ code: 'overloaded', status: 503 }));
    await nextTick();
    expect(failed).toEqual({});
    begin('ada1', 3_000);
    await expect.poll(() => failed).toEqual({ mallory2: 'overloaded' });
    begin('bob1', 2_000);
    expect(() => begin('mallory4', 4_000)).toThrow('too many of your long conversations');
    await expect.poll(() => [failed, runs.countRunning()]).toEqual([{ mallory2: 'overloaded' }, 3]);
  });

  it('leave no room for what waits to begin, of whoever holds the most', async () => {
    const { begin, failed, runs } = holding(12_000);
    const wait = (callerId: string, size: number) => {
      const controller = new AbortController();
      return { signal: controller.signal, forget: runs.holdWaiting({ callerId, size, controller }) };
    };
    const first = wait('mallory', 5_000);
    const second = wait('mallory', 5_000);
    expect(() => wait('mallory', 5_000)).toThrow('too many of your long conversations');
    begin('ada1', 3_000);
    expect([first.signal.aborted, second.signal.reason]).toEqual([false, expect.objectContaining({ code: 'overloaded' })]);
    second.forget();
    first.forget();
    first.forget();
    begin('mallory1', 6_000);
    await nextTick();
    expect(failed).toEqual({});
  });

  it('count with the results of their calls', async () => {
    const { runs } = startsWith(
      { heldCharacters: 12_000 },
      [...Array.from({ length: 3 }, (_, index) => calls(['read', { index }])), says('Read.')],
      toolNamed('read', 'x'.repeat(4_000)),
    );
    const { stream } = runs.start(chatRequest(), { caller: ada, controller: new AbortController() });
    await expect(read(stream)).rejects.toMatchObject({ code: 'overloaded' });
  });

  it('count with the turns that are restored in them', async () => {
    const continuations = memoryContinuations({ now: Date.now });
    const turns = Array.from({ length: 4 }, (_, index) => `theirs-${index}`);
    for (const id of turns) await continuations.save(ada, turnOf([call(id)], executed(id, 'x'.repeat(4_000))));
    const { runs } = startsWith({ heldCharacters: 12_000, continuations }, [says('Done.'), says('Done.')]);
    const begin = (ids: readonly string[]) => {
      const messages = ids.flatMap((id): ChatMessage[] => [own(id), { role: 'tool', toolCallId: id, content: 'done' }]);
      return runs.start(chatRequest({ messages }), { caller: ada, controller: new AbortController() });
    };
    expect(textOfEvents(await read(begin(turns.slice(0, 1)).stream))).toBe('Done.');
    await expect(read(begin(turns).stream)).rejects.toMatchObject({ code: 'overloaded' });
    expect(textOfEvents(await read(begin(turns.slice(1, 2)).stream))).toBe('Done.');
  });

  it('count for the key with all its people, and leave room with their end', async () => {
    const { begin, failed, runs } = holding(12_000);
    for (const person of ['a', 'b', 'c']) begin(`team/${person}`, 2_500, `team/${person}`);
    begin('ada1', 2_000);
    begin('bob1', 2_000);
    await expect.poll(() => failed).toEqual({ 'team/c': 'overloaded' });
    await runs.cancelAllOf('team', 'changed');
    begin('ada2', 5_000);
    await expect.poll(() => failed).toEqual({ 'team/a': 'run_cancelled', 'team/b': 'run_cancelled', 'team/c': 'overloaded' });
  });
});
