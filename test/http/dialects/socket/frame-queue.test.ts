import { expect, it } from 'vitest';
import { FrameQueue } from '../../../../src/http/dialects/socket/frame-queue.ts';

const cancel = (runId: string): Buffer => Buffer.from(JSON.stringify({ type: 'cancel', data: { run_id: runId } }));

function queue({ isAuthenticated = true } = {}) {
  const closed = new AbortController();
  const handled: unknown[] = [];
  const failures: [number, string][] = [];
  const frames = new FrameQueue({
    callerId: () => (isAuthenticated ? 'ada' : undefined),
    pace: { hold: () => undefined, release: () => undefined },
    onFrame: (frame) => void handled.push(frame.type === 'frame' ? frame.frame : frame.message),
    onFailure: (...failure) => void failures.push(failure),
    signal: closed.signal,
  });
  return { frames, handled, failures, closed };
}

it('holds frames back while it is paused, and reads them in their order', () => {
  const { frames, handled } = queue();
  frames.pause();
  frames.receive(cancel('a'));
  frames.receive(undefined);
  expect(handled).toEqual([]);
  frames.resume();
  frames.receive(cancel('b'));
  expect(handled).toEqual([{ type: 'cancel', runId: 'a' }, 'Frames are text, not binary.', { type: 'cancel', runId: 'b' }]);
});

it('fails when too many frames are queued', () => {
  const { frames, failures } = queue();
  frames.pause();
  for (let count = 0; count < 257; count += 1) frames.receive(cancel('a'));
  expect(failures).toEqual([[1008, 'Too many frames at once.']]);
});

it('fails for a large first frame of an unauthenticated client', () => {
  const { frames, failures, handled } = queue({ isAuthenticated: false });
  frames.receive(Buffer.alloc(8_193, ' '));
  expect([failures, handled]).toEqual([[[4401, 'The first frame is too large for an auth frame.']], []]);
});

it('drops queued and later frames once the socket is closed', () => {
  const { frames, handled, closed } = queue();
  frames.pause();
  frames.receive(cancel('a'));
  closed.abort();
  frames.resume();
  frames.receive(cancel('b'));
  expect(handled).toEqual([]);
});
