import { afterEach, describe, expect, it, vi } from 'vitest';
import { GatewayError, OutboundError } from '../../../src/core/errors.ts';
import type { ToolServerRecord } from '../../../src/core/stores/registry.ts';
import { createRegisteredServers } from '../../../src/tools/servers/registered-servers.ts';
import type { OpenedServer, Opening } from '../../../src/tools/definitions/opened-server.ts';
import type { ServerNews } from '../../../src/tools/servers/reconnect-servers.ts';
import {
  createServerReconnector,
  firstRetryMs,
  maxRetryMs,
  retryDelayMs,
  documentRefreshMs,
} from '../../../src/tools/servers/reconnect-servers.ts';
import { toolServerRecord } from '../../storage/registry-contract.ts';
import { documentWith, scriptedSend } from '../scripted-send.ts';

const documentUrl = 'http://127.0.0.1:9001/openapi.json';

it.each([
  [0, 10_000],
  [1, 10_000],
  [2, 20_000],
  [3, 40_000],
  [5, 160_000],
  [6, maxRetryMs],
  [5_000, maxRetryMs],
])('after %i failures the pause is %i ms', (failures, delay) => {
  expect(retryDelayMs(failures)).toBe(delay);
});

describe('servers that failed', () => {
  function reviverOf(list: () => Promise<ToolServerRecord[]>) {
    let time = 0;
    const script = scriptedSend({ [documentUrl]: new OutboundError('unreachable', 'down') });
    const servers = createRegisteredServers({ send: script.send, now: () => time });
    const reviver = createServerReconnector({ servers, listRecords: list, now: () => time });
    const at = async (ms: number): Promise<number> => {
      time = ms;
      await reviver.reconnectDue();
      return script.requests.length;
    };
    return { script, servers, reviver, at };
  }
  afterEach(() => vi.useRealTimers());

  it('are tried again after ever longer pauses, until they answer', async () => {
    const record = toolServerRecord();
    const { script, servers, at } = reviverOf(async () => [record]);
    expect(await at(0)).toBe(1);
    expect(await at(9_999)).toBe(1);
    expect(await at(10_000)).toBe(2);
    expect(await at(29_999)).toBe(2);
    expect(await at(30_000)).toBe(3);
    script.answers.set(documentUrl, documentWith('now'));
    expect(await at(69_999)).toBe(3);
    expect(await at(70_000)).toBe(4);
    expect(servers.stateOf(record)?.type).toBe('opened');
  });

  it('that are open are asked for their document now and then, and keep their functions meanwhile and when it is broken', async () => {
    const record = toolServerRecord();
    const { script, servers, at } = reviverOf(async () => [record]);
    script.answers.set(documentUrl, documentWith('now'));
    const names = (): string[] => {
      const state = servers.stateOf(record);
      return state?.type === 'opened' ? state.server.functions.map(({ spec }) => spec.name) : [];
    };
    expect(await at(0)).toBe(1);
    expect(await at(documentRefreshMs - 1)).toBe(1);
    const before = servers.stateOf(record);
    expect(await at(documentRefreshMs)).toBe(2);
    // The same bytes are the same functions.
    expect(servers.stateOf(record)).toEqual(before);
    script.answers.set(documentUrl, documentWith('later'));
    expect(await at(2 * documentRefreshMs)).toBe(3);
    expect(names()).toEqual(['later']);
    script.answers.set(documentUrl, new OutboundError('unreachable', 'down'));
    expect(await at(3 * documentRefreshMs)).toBe(4);
    expect(names()).toEqual(['later']);
    expect(await at(3 * documentRefreshMs + firstRetryMs)).toBe(5);
    expect(servers.failuresOf(record)?.count).toBe(2);
  });

  it('are left alone while disabled, and when trying again does not help', async () => {
    const { at } = reviverOf(async () => [toolServerRecord({ isEnabled: false }), toolServerRecord({ id: 'mcp', type: 'mcp' })]);
    expect(await at(0)).toBe(0);
    expect(await at(1_000_000)).toBe(0);
  });

  it('are tried in the next round when the store could not be read', async () => {
    const list = vi.fn<() => Promise<ToolServerRecord[]>>().mockRejectedValueOnce(new GatewayError('storage_unavailable', 'locked'));
    list.mockResolvedValue([toolServerRecord()]);
    const { at } = reviverOf(list);
    expect(await at(0)).toBe(0);
    expect(await at(1)).toBe(1);
  });

  it('come back without a chat that asks, until the gateway closes', async () => {
    vi.useFakeTimers();
    const { script, reviver } = reviverOf(async () => [toolServerRecord()]);
    reviver.start();
    await vi.advanceTimersByTimeAsync(firstRetryMs);
    expect(script.requests).toHaveLength(1);
    reviver.close();
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('what is told of servers', () => {
  const opened = (held: string[]): Opening => ({
    type: 'opened',
    server: { functions: [{}], held: held.map((path) => ({ operation: { path } })) } as unknown as OpenedServer,
  });
  const failed: Opening = { type: 'unreachable', reason: 'down', cause: 'failed' };

  it.each<[string, (Opening | 'slow' | undefined)[], ServerNews[]]>([
    ['one that opens', [undefined, opened([])], []],
    ['one that hangs, then opens', ['slow', 'slow', opened([])], [{ type: 'slow' }, { type: 'opened' }]],
    ['one that hangs, then fails', ['slow', failed, failed], [{ type: 'slow' }, { type: 'broken', reason: 'down' }]],
    ['changed definitions, once', [opened(['pay']), opened(['pay'])], [{ type: 'functions_held', functions: ['pay'] }]],
    [
      'further changed definitions',
      [opened([]), opened(['pay']), opened(['pay', 'ask']), opened([])],
      [
        { type: 'functions_held', functions: ['pay'] },
        { type: 'functions_held', functions: ['pay', 'ask'] },
      ],
    ],
  ])('%s', async (_name, states, expected) => {
    const record = toolServerRecord();
    const news: ServerNews[] = [];
    let state: Opening | 'slow' | undefined;
    const reviver = createServerReconnector({
      servers: {
        open: async () => failed,
        renew: async () => failed,
        suspectsAmong: async () => new Set<ToolServerRecord>(),
        stateOf: () => (state === 'slow' ? undefined : state),
        isSlow: () => state === 'slow',
        failuresOf: () => undefined,
        loadedAt: () => 0,
      },
      listRecords: async () => [record],
      now: () => 0,
      onNews: (_record, told) => news.push(told),
    });
    for (state of states) await reviver.reconnectDue();
    expect(news).toEqual(expected);
  });
});
