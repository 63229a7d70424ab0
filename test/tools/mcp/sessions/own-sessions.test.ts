import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { OwnToolServer, OwnUse } from '../../../../src/tools/definitions/own-use.ts';
import type { ToolServerRecord } from '../../../../src/core/stores/registry.ts';
import type { McpSession } from '../../../../src/tools/mcp/sessions/mcp-session.ts';
import { createOwnSessions, ownMcpSessions, ownMcpSessionIdleMs } from '../../../../src/tools/mcp/sessions/own-sessions.ts';
import type { OwnSessions } from '../../../../src/tools/mcp/sessions/own-sessions.ts';
import { failureMemoryMs } from '../../../../src/tools/definitions/opened-server.ts';
import { mcpRecord } from '../mcp-fixture.ts';

/** A server as somebody with this key uses it. */
const own = (key: string, fields: Partial<ToolServerRecord> = {}): ToolServerRecord => mcpRecord({ isPerUser: true, key, ...fields });

/** That server, used by this person. */
const use = (record: OwnToolServer, callerId: string): OwnUse => ({ own: record, callerId, renew: async () => undefined });

interface Counted {
  sessions: OwnSessions;
  /** Keys of the sessions that were retired, in order. */
  retired: string[];
  /** How often a list was read. */
  reads: () => number;
  clock: { time: number; isDown: boolean };
  tellChange: () => void;
}

function countedSessions(): Counted {
  const clock = { time: 0, isDown: false };
  const retired: string[] = [];
  let reads = 0;
  let changed: () => void = () => undefined;
  const sessions = createOwnSessions({
    signal: new AbortController().signal,
    now: () => clock.time,
    createSession(use, onListChanged) {
      changed = onListChanged;
      return {
        open: async () => {
          reads += 1;
          return clock.isDown ? { type: 'unreachable', reason: 'down', cause: 'failed' } : { type: 'opened', server: {} };
        },
        retire: () => void retired.push(use.own.key ?? ''),
        close: async () => undefined,
      } as unknown as McpSession;
    },
  });
  onTestFinished(() => sessions.close());
  return { sessions, retired, reads: () => reads, clock, tellChange: () => changed() };
}

describe("a person's own session with an MCP server", () => {
  it('serves that person alone, for as long as key and connection are the same', () => {
    const { sessions, retired } = countedSessions();
    const first = sessions.sessionOf(use(own('a'), 'key/ada'));
    expect(sessions.sessionOf(use(own('a'), 'key/ada'))).toBe(first);
    // The same key may be another account elsewhere, and another person is another person.
    expect(sessions.sessionOf(use(own('a'), 'key/bob'))).not.toBe(first);
    expect(sessions.sessionOf(use(own('a'), 'key2/ada'))).not.toBe(first);
    expect(sessions.sessionOf(use(own('a', { id: 'other' }), 'key/ada'))).not.toBe(first);
    expect(retired).toEqual([]);
    const second = sessions.sessionOf(use(own('b'), 'key/ada'));
    expect([second === first, retired]).toEqual([false, ['a']]);
    sessions.sessionOf(use(own('b', { url: 'http://moved.test/mcp' }), 'key/ada'));
    expect(retired).toEqual(['a', 'b']);
  });

  it('goes on with a new token of the same sign-in, and not with one of another', () => {
    const { sessions, retired } = countedSessions();
    const token = (key: string, signInId: string, fields: Partial<ToolServerRecord> = {}): OwnToolServer => ({
      ...own(key, fields),
      signInId,
    });
    const first = sessions.sessionOf(use(token('a', 'one'), 'key/ada'));
    expect(sessions.sessionOf(use(token('b', 'one'), 'key/ada'))).toBe(first);
    expect(sessions.sessionOf(use(token('b', 'one'), 'key/bob'))).not.toBe(first);
    expect(retired).toEqual([]);
    expect(sessions.sessionOf(use(token('b', 'two'), 'key/ada'))).not.toBe(first);
    expect(retired).toEqual(['b']);
    sessions.sessionOf(use(token('c', 'two', { url: 'http://moved.test/mcp' }), 'key/ada'));
    expect(retired).toEqual(['b', 'b']);
  });

  it('is dropped with the credential, and with the server', () => {
    const { sessions, retired } = countedSessions();
    sessions.sessionOf(use(own('a'), 'key/ada'));
    sessions.sessionOf(use(own('b'), 'key/bob'));
    sessions.sessionOf(use(own('c', { id: 'other' }), 'key/bob'));
    sessions.forget('key/ada', 'peer');
    sessions.forget('key/nobody', 'peer');
    sessions.keepOnly(new Set(['other']));
    expect(retired).toEqual(['a', 'b']);
  });

  it('is closed when nobody has used it for a while', () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const { sessions, retired, clock } = countedSessions();
    sessions.sessionOf(use(own('a'), 'key/ada'));
    sessions.sessionOf(use(own('b'), 'key/bob'));
    clock.time = ownMcpSessionIdleMs - 1;
    sessions.sessionOf(use(own('b'), 'key/bob'));
    clock.time = ownMcpSessionIdleMs;
    vi.advanceTimersByTime(ownMcpSessionIdleMs);
    expect(retired).toEqual(['a']);
  });

  it('makes room among the people of its own key when there are too many', () => {
    const { sessions, retired } = countedSessions();
    sessions.sessionOf(use(own('of another key'), 'key2/eve'));
    for (let index = 0; index < ownMcpSessions; index += 1) sessions.sessionOf(use(own(`${index}`), `key/${index}`));
    expect(retired).toEqual(['0']);
  });

  it('reads its list once, again when the server says so, and after a failure a while later', async () => {
    const { sessions, reads, clock, tellChange } = countedSessions();
    for (let times = 0; times < 3; times += 1) await sessions.list(use(own('a'), 'key/ada'));
    expect(reads()).toBe(1);
    tellChange();
    clock.isDown = true;
    for (let times = 0; times < 3; times += 1) expect(await sessions.list(use(own('a'), 'key/ada'))).toMatchObject({ type: 'unreachable' });
    expect(reads()).toBe(2);
    clock.isDown = false;
    clock.time = failureMemoryMs;
    expect(await sessions.list(use(own('a'), 'key/ada'))).toMatchObject({ type: 'opened' });
    expect(reads()).toBe(3);
  });
});
