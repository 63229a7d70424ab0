import { afterEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/shared/json/json.ts';
import type { ToolOutcome } from '../../src/core/tools/tool.ts';
import type { BrowserRelay } from '../../src/relay/browser-relay.ts';
import { ada, bob, idOf, invocation, newId, recordingSocket, startRelay, timeCall } from './relay-fixture.ts';
import { waitUntil } from '../_support/wait-for.ts';

const relays: BrowserRelay[] = [];
function relay(options: Parameters<typeof startRelay>[0] = {}): BrowserRelay {
  const created = startRelay(options);
  relays.push(created);
  return created;
}
afterEach(async () => {
  await Promise.all(relays.splice(0).map((created) => created.close()));
});

const codeOf = (outcome: ToolOutcome): string => (outcome.type === 'error' ? outcome.code : 'result');

describe('a call in the browser', () => {
  it('sends the frame of the contract and settles with the answer', async () => {
    const door = relay();
    const socket = recordingSocket();
    const session = await door.open({ caller: ada, socket });
    expect(socket.frames).toEqual([{ type: 'session', data: { session_id: session.id } }]);
    const outcome = door.callBrowser(timeCall, invocation({ sessionId: session.id, timeoutMs: 4_000 }));
    const [data] = socket.dataOf('execute:tool');
    expect(data).toEqual({
      id: expect.stringMatching(/^[\w-]{22,}$/),
      name: 'get_time',
      offered_name: 'time_get_time',
      params: { zone: 'UTC' },
      server: { url: 'http://localhost:9000', info: { title: 'Time' } },
      request: { method: 'GET', url: 'http://localhost:9000/time?zone=UTC', headers: { accept: 'application/json' } },
      session_id: session.id,
      timeout_ms: 4_000,
    });
    session.answer({ id: idOf(data), result: { now: '12:00' } });
    expect(await outcome).toEqual({ type: 'result', value: { now: '12:00' } });
  });

  it.each([
    [{}, { type: 'error', code: 'tool_error', message: expect.stringContaining('neither a result nor an error') }],
    [{ result: null }, { type: 'result', value: null }],
    [{ result: ['data', { 'x-header': '1' }] }, { type: 'result', value: ['data', { 'x-header': '1' }] }],
    [
      { result: 0, error: null },
      { type: 'result', value: 0 },
    ],
    [{ error: 'Not found' }, { type: 'error', code: 'tool_error', message: 'Not found' }],
    [{ error: '' }, { type: 'error', code: 'tool_error', message: 'The browser reported an error without a message.' }],
    [{ error: { message: 'HTTP 404', status: 404 } }, { type: 'error', code: 'tool_error', message: 'HTTP 404', detail: { status: 404 } }],
    [{ error: { status: 500 } }, { type: 'error', code: 'tool_error', message: '{"status":500}' }],
    [{ error: 7 }, { type: 'error', code: 'tool_error', message: '7' }],
  ])('reads the answer %j', async (answer, expected) => {
    const door = relay();
    const socket = recordingSocket();
    const session = await door.open({ caller: ada, socket });
    const outcome = door.callBrowser(timeCall, invocation({ sessionId: session.id }));
    session.answer({ id: idOf(socket.dataOf('execute:tool')[0]), ...answer });
    expect(await outcome).toEqual(expected);
  });

  it('takes the first of two answers and ignores the second, a late one and an unknown id', async () => {
    const door = relay();
    const socket = recordingSocket();
    const session = await door.open({ caller: ada, socket });
    const outcome = door.callBrowser(timeCall, invocation({ sessionId: session.id }));
    const id = idOf(socket.dataOf('execute:tool')[0]);
    session.answer({ id: newId(), result: 'alien' });
    session.answer({ id, result: 'first' });
    session.answer({ id, result: 'second' });
    expect(await outcome).toEqual({ type: 'result', value: 'first' });
    session.answer({ id, result: 'late' });
    expect(door.counts()).toEqual({ sessions: 1, connected: 1, pendingCalls: 0, ignoredAnswers: 3 });
  });

  it("ignores an answer from the same user's other socket and from another user", async () => {
    const door = relay();
    const socket = recordingSocket();
    const session = await door.open({ caller: ada, socket });
    const otherTab = await door.open({ caller: ada, socket: recordingSocket() });
    const stranger = await door.open({ caller: bob, socket: recordingSocket() });
    const outcome = door.callBrowser(timeCall, invocation({ sessionId: session.id }));
    const id = idOf(socket.dataOf('execute:tool')[0]);
    otherTab.answer({ id, result: 'tab' });
    stranger.answer({ id, result: 'stolen' });
    expect(door.counts()).toMatchObject({ pendingCalls: 1, ignoredAnswers: 2 });
    session.answer({ id, result: 'mine' });
    expect(await outcome).toEqual({ type: 'result', value: 'mine' });
  });

  it('uses a new id for every call, whatever the model called it', async () => {
    const door = relay();
    const socket = recordingSocket();
    const session = await door.open({ caller: ada, socket });
    const outcomes = [1, 2, 3].map(() => door.callBrowser(timeCall, invocation({ sessionId: session.id })));
    const ids = socket.dataOf('execute:tool').map(idOf);
    expect(new Set(ids).size).toBe(3);
    for (const [index, id] of ids.toReversed().entries()) session.answer({ id, result: index });
    expect(await Promise.all(outcomes)).toEqual([2, 1, 0].map((value) => ({ type: 'result', value })));
  });

  it.each([
    [40, "Tool 'time_get_time' timed out after 0.04s"],
    [150, "Tool 'time_get_time' timed out after 0.15s"],
  ])('times out after %i ms, tells the browser once, and forgets the call', async (timeoutMs, message) => {
    const door = relay();
    const socket = recordingSocket();
    const session = await door.open({ caller: ada, socket });
    const outcome = await door.callBrowser(timeCall, invocation({ sessionId: session.id, timeoutMs }));
    expect(outcome).toEqual({ type: 'error', code: 'tool_timeout', message });
    await new Promise((resolve) => setTimeout(resolve, 20));
    const id = idOf(socket.dataOf('execute:tool')[0]);
    expect(socket.dataOf('execute:tool:cancel')).toEqual([{ id }]);
    session.answer({ id, result: 'late' });
    expect(door.counts()).toMatchObject({ pendingCalls: 0, ignoredAnswers: 1 });
  });

  it('does not accept an answer after the deadline even when the timer is late', async () => {
    let time = 0;
    const door = relay({ now: () => time });
    const socket = recordingSocket();
    const session = await door.open({ caller: ada, socket });
    const outcome = door.callBrowser(timeCall, invocation({ sessionId: session.id, timeoutMs: 100 }));
    time = 101;
    session.answer({ id: idOf(socket.dataOf('execute:tool')[0]), result: 'late' });
    expect(door.counts().ignoredAnswers).toBe(1);
    expect(codeOf(await outcome)).toBe('tool_timeout');
  });

  it.each(['run', 'call'])('rejects with the reason when the signal of the %s aborts, and tells the browser', async (which) => {
    const door = relay();
    const socket = recordingSocket();
    const session = await door.open({ caller: ada, socket });
    const controller = new AbortController();
    const signals = which === 'run' ? { runSignal: controller.signal } : { signal: controller.signal };
    const outcome = door.callBrowser(timeCall, invocation({ sessionId: session.id, ...signals }));
    const reason = new Error('the caller left');
    controller.abort(reason);
    await expect(outcome).rejects.toBe(reason);
    const id = idOf(socket.dataOf('execute:tool')[0]);
    expect(socket.dataOf('execute:tool:cancel')).toEqual([{ id }]);
    session.answer({ id, result: 'late' });
    expect(door.counts()).toMatchObject({ pendingCalls: 0, ignoredAnswers: 1 });
    await expect(door.callBrowser(timeCall, invocation({ sessionId: session.id, ...signals }))).rejects.toBe(reason);
    expect(socket.dataOf('execute:tool')).toHaveLength(1);
  });

  it('fails at once when the socket closes', async () => {
    const door = relay();
    const socket = recordingSocket();
    const session = await door.open({ caller: ada, socket });
    const outcome = door.callBrowser(timeCall, invocation({ sessionId: session.id }));
    session.disconnected();
    expect(await outcome).toEqual({
      type: 'error',
      code: 'client_disconnected',
      message: "The browser disconnected while it ran 'time_get_time'; whether the call took effect is unknown.",
    });
  });

  it('fails at once when the session is unknown, away, missing, or another caller’s, whose socket hears nothing', async () => {
    const door = relay();
    const away = await door.open({ caller: ada, socket: recordingSocket() });
    away.disconnected();
    const victim = recordingSocket();
    const foreign = await door.open({ caller: bob, socket: victim });
    for (const sessionId of [newId(), away.id, undefined, foreign.id]) {
      expect(codeOf(await door.callBrowser(timeCall, invocation({ sessionId })))).toBe('client_unavailable');
    }
    expect(victim.frames).toHaveLength(1);
    const texts = await Promise.all([newId(), foreign.id].map((sessionId) => door.callBrowser(timeCall, invocation({ sessionId }))));
    expect(texts[0], 'a stranger must not learn that the session exists').toEqual(texts[1]);
  });
});

describe('a session', () => {
  it('has an unguessable id of its own', async () => {
    const door = relay();
    const ids = await Promise.all([1, 2, 3].map(async () => (await door.open({ caller: ada, socket: recordingSocket() })).id));
    expect(new Set(ids).size).toBe(3);
  });

  it('is taken up within the grace, gets what was kept in order, and serves later calls', async () => {
    const door = relay();
    const first = await door.open({ caller: ada, socket: recordingSocket() });
    first.disconnected();
    expect(await door.sendTo(first.id, ada, { type: 'note', data: { n: 1 } })).toBe(true);
    expect(await door.sendTo(first.id, ada, { type: 'note', data: { n: 2 } })).toBe(true);
    const socket = recordingSocket();
    const second = await door.open({ caller: ada, socket, resume: first.id });
    expect(second.id).toBe(first.id);
    expect(door.endOf(second.id, ada)?.aborted).toBe(false);
    expect(door.endOf(second.id, bob)).toBeUndefined();
    expect(socket.frames).toEqual([
      { type: 'session', data: { session_id: first.id, resumed: true } },
      { type: 'note', data: { n: 1 } },
      { type: 'note', data: { n: 2 } },
    ]);
    const outcome = door.callBrowser(timeCall, invocation({ sessionId: first.id }));
    const id = idOf(socket.dataOf('execute:tool')[0]);
    first.answer({ id, result: 'from the old socket' });
    first.disconnected();
    second.answer({ id, result: 'ok' });
    expect(await outcome).toEqual({ type: 'result', value: 'ok' });
  });

  it('keeps what was sent while its socket was closing, and fails the calls that were asked there', async () => {
    const door = relay();
    let isOpen = true;
    const recording = recordingSocket();
    const closing = { ...recording, send: (frame: JsonObject) => isOpen && recording.send(frame) };
    const first = await door.open({ caller: ada, socket: closing });
    const outcome = door.callBrowser(timeCall, invocation({ sessionId: first.id }));
    isOpen = false;
    expect(await door.sendTo(first.id, ada, { type: 'note', data: { n: 1 } })).toBe(true);
    expect(await outcome).toMatchObject({ type: 'error', code: 'client_disconnected' });
    first.disconnected();
    const socket = recordingSocket();
    await door.open({ caller: ada, socket, resume: first.id });
    expect(socket.dataOf('note')).toEqual([{ n: 1 }]);
  });

  it('is not taken up after the grace, by another caller, or when it never was', async () => {
    let time = 0;
    const door = relay({ now: () => time, graceMs: 50_000 });
    const session = await door.open({ caller: ada, socket: recordingSocket() });
    session.disconnected();
    const socket = recordingSocket();
    const stranger = await door.open({ caller: bob, socket, resume: session.id });
    expect(stranger.id).not.toBe(session.id);
    expect(socket.dataOf('session')).toEqual([{ session_id: stranger.id, resumed: false }]);
    time = 50_000;
    expect((await door.open({ caller: ada, socket: recordingSocket(), resume: session.id })).id).not.toBe(session.id);
    for (const resume of [newId(), '', '*', 'x'.repeat(10_000)]) {
      expect((await door.open({ caller: ada, socket: recordingSocket(), resume })).id).not.toBe(resume);
    }
  });

  it('ends when the grace is over: its signal aborts and nothing reaches it', async () => {
    const door = relay({ graceMs: 30 });
    const session = await door.open({ caller: ada, socket: recordingSocket() });
    const ended = door.endOf(session.id, ada);
    session.disconnected();
    expect(ended?.aborted).toBe(false);
    await waitUntil(() => ended?.aborted);
    expect(door.counts().sessions).toBe(0);
    expect(await door.sendTo(session.id, ada, { type: 'note' })).toBe(false);
  });

  it('leaves a live socket for the one that takes it up: 4409, and running calls fail', async () => {
    const door = relay();
    const old = recordingSocket();
    const first = await door.open({ caller: ada, socket: old });
    const outcome = door.callBrowser(timeCall, invocation({ sessionId: first.id }));
    const second = await door.open({ caller: ada, socket: recordingSocket(), resume: first.id });
    expect(old.closed).toMatchObject([{ code: 4409 }]);
    expect(codeOf(await outcome)).toBe('client_disconnected');
    first.disconnected();
    expect(codeOf(await door.callBrowser(timeCall, invocation({ sessionId: second.id, timeoutMs: 20 })))).toBe('tool_timeout');
  });

  it('ends when too much waits for its browser', async () => {
    const door = relay();
    const session = await door.open({ caller: ada, socket: recordingSocket() });
    const ended = door.endOf(session.id, ada);
    session.disconnected();
    const frame = { type: 'note', data: { text: 'x'.repeat(1024 * 1024) } };
    const sent = [
      await door.sendTo(session.id, ada, frame),
      await door.sendTo(session.id, ada, frame),
      await door.sendTo(session.id, ada, frame),
    ];
    expect(sent).toEqual([true, true, true]);
    expect(await door.sendTo(session.id, ada, frame)).toBe(false);
    expect(ended?.aborted).toBe(true);
  });

  it('takes frames only for its own caller', async () => {
    const door = relay();
    const socket = recordingSocket();
    const session = await door.open({ caller: ada, socket });
    expect(await door.sendTo(session.id, bob, { type: 'note' })).toBe(false);
    expect(await door.sendTo(newId(), ada, { type: 'note' })).toBe(false);
    expect(socket.frames).toHaveLength(1);
  });

  it('closes with its key, without a grace, and only its own caller’s', async () => {
    const door = relay();
    const socket = recordingSocket();
    const other = recordingSocket();
    const session = await door.open({ caller: ada, socket });
    await door.open({ caller: bob, socket: other });
    const outcome = door.callBrowser(timeCall, invocation({ sessionId: session.id }));
    await door.closeSessionsOf('ada');
    expect(socket.closed).toMatchObject([{ code: 4401 }]);
    expect(other.closed).toEqual([]);
    expect(codeOf(await outcome)).toBe('client_disconnected');
    expect((await door.open({ caller: ada, socket: recordingSocket(), resume: session.id })).id).not.toBe(session.id);
  });

  it('does not fill the memory with sessions that wait', async () => {
    const door = relay();
    for (let turn = 0; turn < 100; turn += 1) (await door.open({ caller: ada, socket: recordingSocket() })).disconnected();
    expect(door.counts().sessions).toBeLessThanOrEqual(17);
  });
});

describe('closing the relay', () => {
  it('closes the sockets, fails the calls and lets nobody in', async () => {
    const created = relay();
    const socket = recordingSocket();
    const session = await created.open({ caller: ada, socket });
    const outcome = created.callBrowser(timeCall, invocation({ sessionId: session.id }));
    const ended = created.endOf(session.id, ada);
    await created.close();
    expect(socket.closed).toMatchObject([{ code: 1001 }]);
    expect(codeOf(await outcome)).toBe('client_disconnected');
    expect(ended?.aborted).toBe(true);
    await expect(created.open({ caller: ada, socket: recordingSocket() })).rejects.toThrow('closed');
  });
});
