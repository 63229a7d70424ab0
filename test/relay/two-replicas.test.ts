import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { JsonObject } from '../../src/shared/json/json.ts';
import type { ToolOutcome } from '../../src/core/tools/tool.ts';
import type { BrowserRelay } from '../../src/relay/browser-relay.ts';
import { createInProcessBus } from '../../src/relay/bus.ts';
import type { RelayBus } from '../../src/relay/bus.ts';
import { ada, bob, idOf, invocation, newId, recordingSocket, startRelay, timeCall } from './relay-fixture.ts';
import type { RecordingSocket } from './relay-fixture.ts';
import { waitUntil } from '../_support/wait-for.ts';

let bus: RelayBus;
let near: BrowserRelay;
let far: BrowserRelay;

beforeEach(() => {
  bus = createInProcessBus();
  near = startRelay({ bus, replicaId: 'near' });
  far = startRelay({ bus, replicaId: 'far' });
});
afterEach(async () => {
  vi.useRealTimers();
  await Promise.all([near.close(), far.close()]);
});

const codeOf = (outcome: ToolOutcome): string => (outcome.type === 'error' ? outcome.code : 'result');
const callIn = (socket: RecordingSocket): Promise<string> =>
  waitUntil(() => socket.dataOf('execute:tool').length > 0 && idOf(socket.dataOf('execute:tool')[0]));

/** A bus that repeats and holds back, as a network may. */
function duplicating(inner: RelayBus): RelayBus {
  return {
    ...inner,
    async publish(channel: string, message: JsonObject) {
      await inner.publish(channel, message);
      return await inner.publish(channel, message);
    },
  };
}

describe('a chat on one replica and the browser on another', () => {
  it('calls, answers and cancels across', async () => {
    const socket = recordingSocket();
    const session = await far.open({ caller: ada, socket });
    const outcome = near.callBrowser(timeCall, invocation({ sessionId: session.id }));
    const id = await callIn(socket);
    expect(near.counts()).toMatchObject({ sessions: 0, pendingCalls: 1 });
    expect(far.counts()).toMatchObject({ sessions: 1, pendingCalls: 1 });
    session.answer({ id, result: 'far away' });
    expect(await outcome).toEqual({ type: 'result', value: 'far away' });

    const controller = new AbortController();
    const second = near.callBrowser(timeCall, invocation({ sessionId: session.id, signal: controller.signal }));
    await waitUntil(() => socket.dataOf('execute:tool')[1]);
    controller.abort(new Error('left'));
    await expect(second).rejects.toThrow('left');
    await waitUntil(() => socket.dataOf('execute:tool:cancel')[0]);
    expect([near.counts().pendingCalls, far.counts().pendingCalls]).toEqual([0, 0]);
  });

  it('fails at once when the browser leaves, its key is revoked, or its replica shuts down', async () => {
    const ends: ((session: { disconnected(): void }) => unknown)[] = [
      (session) => session.disconnected(),
      () => near.closeSessionsOf('ada'),
      () => far.close(),
    ];
    for (const end of ends) {
      const socket = recordingSocket();
      const session = await far.open({ caller: ada, socket });
      const outcome = near.callBrowser(timeCall, invocation({ sessionId: session.id }));
      await callIn(socket);
      await end(session);
      expect(codeOf(await outcome)).toBe('client_disconnected');
    }
  });

  it('fails a call soon after the other replica was killed, which says nothing', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const cut = new Set<() => Promise<void>>();
    const mortal = startRelay({
      replicaId: 'mortal',
      bus: {
        ...bus,
        async subscribe(channel, handler) {
          const unsubscribe = await bus.subscribe(channel, handler);
          cut.add(unsubscribe);
          return unsubscribe;
        },
      },
    });
    const socket = recordingSocket();
    const session = await mortal.open({ caller: ada, socket });
    const outcome = near.callBrowser(timeCall, invocation({ sessionId: session.id, timeoutMs: 100_000 }));
    await callIn(socket);
    vi.advanceTimersByTime(5_000);
    await Promise.resolve();
    expect(near.counts().pendingCalls).toBe(1);
    for (const unsubscribe of cut) await unsubscribe();
    vi.advanceTimersByTime(5_000);
    expect(codeOf(await outcome)).toBe('client_disconnected');
    await mortal.close();
  });

  it.each(['asking', 'answering'])('accepts no answer after the deadline, by the clock of the %s replica', async (which) => {
    let time = 0;
    const asking = startRelay({ bus, now: () => (which === 'asking' ? time : 0) });
    const answering = startRelay({ bus, now: () => (which === 'answering' ? time : 0) });
    const socket = recordingSocket();
    const session = await answering.open({ caller: ada, socket });
    const outcome = asking.callBrowser(timeCall, invocation({ sessionId: session.id, timeoutMs: 150 }));
    const id = await callIn(socket);
    time = 151;
    session.answer({ id, result: 'late' });
    expect(codeOf(await outcome)).toBe('tool_timeout');
    expect(asking.counts().ignoredAnswers + answering.counts().ignoredAnswers).toBe(1);
    await Promise.all([asking.close(), answering.close()]);
  });

  it('keeps another caller’s session out of reach, for calls and for frames', async () => {
    const victim = recordingSocket();
    const session = await far.open({ caller: bob, socket: victim });
    expect(codeOf(await near.callBrowser(timeCall, invocation({ sessionId: session.id })))).toBe('client_unavailable');
    expect(await near.sendTo(session.id, ada, { type: 'note' })).toBe(false);
    expect(codeOf(await near.callBrowser(timeCall, invocation({ sessionId: newId() })))).toBe('client_unavailable');
    expect(victim.frames).toHaveLength(1);
  });

  it('sends frames across, and keeps them while the browser is away', async () => {
    const socket = recordingSocket();
    const session = await far.open({ caller: ada, socket });
    expect(await near.sendTo(session.id, ada, { type: 'note', data: { n: 1 } })).toBe(true);
    session.disconnected();
    expect(await near.sendTo(session.id, ada, { type: 'note', data: { n: 2 } })).toBe(true);
    const again = recordingSocket();
    await far.open({ caller: ada, socket: again, resume: session.id });
    expect(socket.dataOf('note')).toEqual([{ n: 1 }]);
    expect(again.dataOf('note')).toEqual([{ n: 2 }]);
  });
});

describe('a session that moves to another replica', () => {
  it('takes its kept frames along, serves calls there, and leaves nothing behind', async () => {
    const session = await far.open({ caller: ada, socket: recordingSocket() });
    const ended = far.endOf(session.id, ada);
    session.disconnected();
    await far.sendTo(session.id, ada, { type: 'note', data: { n: 1 } });
    const socket = recordingSocket();
    const moved = await near.open({ caller: ada, socket, resume: session.id });
    expect(moved.id).toBe(session.id);
    expect(far.counts().sessions).toBe(0);
    expect(ended?.aborted, 'what runs for it goes on').toBe(false);
    expect(await far.sendTo(session.id, ada, { type: 'note', data: { n: 2 } })).toBe(true);
    expect(socket.dataOf('session')).toEqual([{ session_id: session.id, resumed: true }]);
    expect(socket.dataOf('note')).toEqual([{ n: 1 }, { n: 2 }]);
    const outcome = far.callBrowser(timeCall, invocation({ sessionId: session.id }));
    moved.answer({ id: await callIn(socket), result: 'here' });
    expect(await outcome).toEqual({ type: 'result', value: 'here' });
  });

  it('loses and repeats no frame while it moves under load', async () => {
    const session = await far.open({ caller: ada, socket: recordingSocket() });
    session.disconnected();
    const socket = recordingSocket();
    const sending = (async () => {
      for (let n = 0; n < 200; n += 1) await far.sendTo(session.id, ada, { type: 'note', data: { n } });
    })();
    await near.open({ caller: ada, socket, resume: session.id });
    await sending;
    expect(socket.dataOf('note').map((data) => data['n'])).toEqual(Array.from({ length: 200 }, (_, n) => n));
  });

  it('gets what came while the answer to its move was still on the way', async () => {
    const slowReplies: RelayBus = {
      ...bus,
      subscribe: (channel, handler) =>
        bus.subscribe(channel, (message) => {
          if (channel === 'relay:replica:slow') setTimeout(() => handler(message), 20);
          else handler(message);
        }),
    };
    const slow = startRelay({ bus: slowReplies, replicaId: 'slow' });
    const session = await far.open({ caller: ada, socket: recordingSocket() });
    session.disconnected();
    await far.sendTo(session.id, ada, { type: 'note', data: { n: 1 } });
    const socket = recordingSocket();
    const moving = slow.open({ caller: ada, socket, resume: session.id });
    await waitUntil(() => far.counts().sessions === 0);
    expect(await near.sendTo(session.id, ada, { type: 'note', data: { n: 2 } })).toBe(true);
    await moving;
    expect(socket.dataOf('note')).toEqual([{ n: 1 }, { n: 2 }]);
    await slow.close();
  });

  it('goes to one of two that want it at the same time', async () => {
    const session = await far.open({ caller: ada, socket: recordingSocket() });
    session.disconnected();
    const third = startRelay({ bus, replicaId: 'third' });
    const sockets = [recordingSocket(), recordingSocket()];
    await Promise.all([
      near.open({ caller: ada, socket: sockets[0] ?? recordingSocket(), resume: session.id }),
      third.open({ caller: ada, socket: sockets[1] ?? recordingSocket(), resume: session.id }),
    ]);
    const holders = sockets.filter((socket) => socket.closed.length === 0 && socket.dataOf('session')[0]?.['session_id'] === session.id);
    expect(holders).toHaveLength(1);
    await third.close();
  });

  it('stays where it is when another caller asks for it', async () => {
    const socket = recordingSocket();
    const session = await far.open({ caller: ada, socket });
    const stranger = await near.open({ caller: bob, socket: recordingSocket(), resume: session.id });
    expect(stranger.id).not.toBe(session.id);
    expect(socket.closed).toEqual([]);
    expect(await near.sendTo(session.id, ada, { type: 'note' })).toBe(true);
  });
});

describe('a bus that cannot be trusted', () => {
  const forged = [
    {},
    { type: 'call' },
    { type: 'call', id: { a: 1 }, sessionId: 's', callerId: 'ada', runId: 'r', timeoutMs: 1, replyTo: 'x', data: {} },
    { type: 'take', id: 'x', replyTo: 'evil' },
    { type: 'reply', id: 'x' },
    { type: 'close-caller' },
    { type: 'close-caller', callerId: 7 },
    { type: 'frame', frame: 'text' },
  ] as unknown as JsonObject[];

  it('drops malformed messages everywhere', async () => {
    const socket = recordingSocket();
    const session = await far.open({ caller: ada, socket });
    for (const message of forged) {
      for (const channel of [`relay:session:${session.id}`, 'relay:replica:far', 'relay:callers']) {
        await bus.publish(channel, { ...message, ...(channel.includes('session') && 'type' in message ? { sessionId: session.id } : {}) });
      }
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(socket.frames).toHaveLength(1);
    expect(socket.closed).toEqual([]);
  });

  it('checks the caller again where the session lives, and the session of an answer where it is awaited', async () => {
    const socket = recordingSocket();
    const session = await far.open({ caller: ada, socket });
    await near.open({ caller: ada, socket: recordingSocket() });
    const common = { sessionId: session.id, replyTo: 'near', callerId: 'bob' };
    await bus.publish(`relay:session:${session.id}`, { type: 'call', id: 'a', ...common, runId: 'r', timeoutMs: 1_000, data: {} });
    await bus.publish(`relay:session:${session.id}`, { type: 'frame', id: 'b', ...common, frame: { type: 'note' } });
    await bus.publish(`relay:session:${session.id}`, { type: 'take', id: 'c', ...common });
    await waitUntil(() => near.counts().ignoredAnswers === 3);
    expect(socket.frames).toHaveLength(1);
    expect(socket.closed).toEqual([]);

    const outcome = near.callBrowser(timeCall, invocation({ sessionId: session.id }));
    const id = await callIn(socket);
    const reply = { type: 'outcome', outcome: { type: 'result', value: 'forged' } };
    await bus.publish('relay:replica:near', { type: 'reply', id, sessionId: 'another', reply });
    await bus.publish('relay:replica:near', { type: 'reply', id: newId(), sessionId: session.id, reply });
    await waitUntil(() => near.counts().ignoredAnswers === 5);
    session.answer({ id, result: 'real' });
    expect(await outcome).toEqual({ type: 'result', value: 'real' });
  });

  it('gives one call and one result when everything is delivered twice', async () => {
    const doubled = duplicating(bus);
    const asking = startRelay({ bus: doubled, replicaId: 'asking' });
    const answering = startRelay({ bus: doubled, replicaId: 'answering' });
    const socket = recordingSocket();
    const session = await answering.open({ caller: ada, socket });
    const outcome = asking.callBrowser(timeCall, invocation({ sessionId: session.id }));
    const id = await callIn(socket);
    session.answer({ id, result: 1 });
    expect(await outcome).toEqual({ type: 'result', value: 1 });
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(socket.dataOf('execute:tool')).toHaveLength(1);
    expect(asking.counts()).toMatchObject({ pendingCalls: 0, ignoredAnswers: 1 });
    await Promise.all([asking.close(), answering.close()]);
  });

  it('runs nothing that was cancelled before it arrived', async () => {
    const socket = recordingSocket();
    const session = await far.open({ caller: ada, socket });
    const channel = `relay:session:${session.id}`;
    await bus.publish(channel, { type: 'cancel', id: 'early', sessionId: session.id });
    const call = {
      type: 'call',
      id: 'early',
      sessionId: session.id,
      callerId: 'ada',
      runId: 'r',
      timeoutMs: 100,
      replyTo: 'near',
      data: {},
    };
    await bus.publish(channel, call);
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(socket.dataOf('execute:tool')).toEqual([]);
  });

  it('says that the browser is not there while the bus cannot be reached, and opens no session', async () => {
    const broken: RelayBus = {
      publish: () => Promise.reject(new Error('no bus')),
      subscribe: () => Promise.reject(new Error('no bus')),
      close: () => Promise.resolve(),
    };
    const lost = startRelay({ bus: broken });
    expect(codeOf(await lost.callBrowser(timeCall, invocation({ sessionId: newId() })))).toBe('client_unavailable');
    expect(await lost.sendTo(newId(), ada, { type: 'note' })).toBe(false);
    await expect(lost.open({ caller: ada, socket: recordingSocket() })).rejects.toThrow('no bus');
    await lost.close();
  });
});
