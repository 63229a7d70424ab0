import { afterEach, describe, expect, it, vi } from 'vitest';
import type { SendElicitation } from '../../src/core/tools/send-elicitation.ts';
import type { RunSuspension } from '../../src/core/runs/suspended-run.ts';
import type { JsonObject } from '../../src/shared/json/json.ts';
import { createInProcessBus } from '../../src/relay/bus.ts';
import type { BrowserRelay } from '../../src/relay/browser-relay.ts';
import { ada, bob, idOf, invocation, recordingSocket, startRelay } from './relay-fixture.ts';
import type { InvocationOptions, RecordingSocket } from './relay-fixture.ts';
import { waitUntil } from '../_support/wait-for.ts';
import { elicitationsPerSession } from '../../src/relay/open-requests.ts';

const open: BrowserRelay[] = [];
afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(open.splice(0).map((relay) => relay.close()));
});

/** A relay with a browser, and one that asks it: the same one, or another on the same bus. */
async function openRelays(isFar: boolean) {
  const bus = createInProcessBus();
  const near = startRelay({ bus, replicaId: 'near' });
  const home = isFar ? startRelay({ bus, replicaId: 'far' }) : near;
  open.push(...new Set([near, home]));
  const socket = recordingSocket();
  const session = await home.open({ caller: ada, socket });
  const ask = (options: InvocationOptions & { data?: JsonObject } = {}): ReturnType<SendElicitation> => {
    const asker = invocation({ sessionId: session.id, ...options });
    return near.sendElicitation({ type: 'input', data: options.data ?? { title: 'Where?' } }, asker);
  };
  return { near, home, socket, session, ask };
}
const asked = async (socket: RecordingSocket): Promise<string> => idOf(await waitUntil(() => socket.dataOf('input').at(-1)));

describe.each([
  ['here', false],
  ['on another replica', true],
])('a question to a session %s', (_name, isFar) => {
  it('is answered once, by the session that was asked and by the frame of its kind', async () => {
    const { home, socket, session, ask } = await openRelays(isFar);
    const other = await home.open({ caller: ada, socket: recordingSocket() });
    const reply = ask();
    const id = await asked(socket);
    expect(socket.dataOf('input')).toEqual([{ title: 'Where?', id }]);
    other.answerElicitation('input', id, { value: 1 });
    session.answerElicitation('confirmation', id, { value: 2 });
    session.answerElicitation('input', 'unknown', { value: 3 });
    session.answerElicitation('input', id, { value: 4 });
    session.answerElicitation('input', id, { value: 5 });
    expect(await reply).toEqual({ type: 'answered', data: { value: 4 } });
    expect(home.counts().ignoredAnswers).toBe(4);
  });

  it('is not put where there is no such session of this caller', async () => {
    const { socket, ask } = await openRelays(isFar);
    expect(await ask({ caller: bob })).toEqual({ type: 'unavailable' });
    expect(await ask({ sessionId: 'nobody' })).toEqual({ type: 'unavailable' });
    expect(await ask({ sessionId: undefined })).toEqual({ type: 'unavailable' });
    expect(socket.dataOf('input')).toEqual([]);
  });

  it('waits for a browser that goes, which is asked again when it is back', async () => {
    const { home, socket, session, ask } = await openRelays(isFar);
    const reply = ask();
    const id = await asked(socket);
    session.disconnected();
    const later = recordingSocket();
    const back = await home.open({ caller: ada, socket: later, resume: session.id });
    expect(later.dataOf('input')).toEqual([{ title: 'Where?', id }]);
    session.answerElicitation('input', id, { value: 1 });
    back.answerElicitation('input', id, { value: 2 });
    expect(await reply).toEqual({ type: 'answered', data: { value: 2 } });
    expect(home.counts().ignoredAnswers).toBe(1);
  });

  it('is put to a browser that was away, once it is back', async () => {
    const { home, session, ask } = await openRelays(isFar);
    session.disconnected();
    const reply = ask();
    const later = recordingSocket();
    const back = await home.open({ caller: ada, socket: later, resume: session.id });
    back.answerElicitation('input', await asked(later), { value: 1 });
    expect(await reply).toEqual({ type: 'answered', data: { value: 1 } });
    expect(later.dataOf('input')).toHaveLength(1);
  });

  it('ends when the browser does not come back', async () => {
    const { socket, session, ask } = await openRelays(isFar);
    const reply = ask();
    await asked(socket);
    session.disconnected();
    expect(await reply).toEqual({ type: 'disconnected' });
  });

  it('ends when the browser goes, and a later socket cannot answer it, where the run can be suspended', async () => {
    const { home, socket, session, ask } = await openRelays(isFar);
    const reply = ask({ suspension: {} as RunSuspension });
    const id = await asked(socket);
    session.disconnected();
    expect(await reply).toEqual({ type: 'disconnected' });
    const later = recordingSocket();
    const back = await home.open({ caller: ada, socket: later, resume: session.id });
    back.answerElicitation('input', id, { value: 1 });
    expect(later.dataOf('input')).toEqual([]);
    expect(home.counts().ignoredAnswers).toBe(1);
  });

  it('ends with its call, and the browser is told', async () => {
    const { socket, ask } = await openRelays(isFar);
    const leave = new AbortController();
    const reply = ask({ signal: leave.signal });
    const id = await asked(socket);
    leave.abort(new Error('left'));
    await expect(reply).rejects.toThrow('left');
    expect(await waitUntil(() => socket.dataOf('input:cancel')[0])).toEqual({ id });
  });

  it('expires, and the browser is told', async () => {
    const { socket, session, ask } = await openRelays(isFar);
    expect(await ask({ timeoutMs: 20 })).toEqual({ type: 'expired' });
    expect(await waitUntil(() => socket.dataOf('input:cancel')[0])).toBeDefined();
    session.answerElicitation('input', await asked(socket), { value: 1 });
  });
});

it('a session holds so many questions and no more', async () => {
  const { socket, ask } = await openRelays(false);
  const replies = Array.from({ length: elicitationsPerSession }, () => ask());
  expect(await ask()).toEqual({ type: 'unavailable' });
  expect(socket.dataOf('input')).toHaveLength(elicitationsPerSession);
  await Promise.all(open.splice(0).map((relay) => relay.close()));
  await Promise.all(replies);
});
