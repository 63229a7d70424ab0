import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { OutboundError } from '../../../src/core/errors.ts';
import { limits } from '../../../src/core/limits.ts';
import type { ToolServerRecord } from '../../../src/core/stores/registry.ts';
import type { Opening } from '../../../src/tools/definitions/opened-server.ts';
import { failureMemoryMs } from '../../../src/tools/definitions/opened-server.ts';
import { serversOpenedAtOnce } from '../../../src/tools/servers/opening-turns.ts';
import { createRegisteredServers, serverPatienceMs } from '../../../src/tools/servers/registered-servers.ts';
import type { RegisteredServers } from '../../../src/tools/servers/registered-servers.ts';
import { runContext } from '../../_support/tools.ts';
import { toolServerRecord } from '../../storage/registry-contract.ts';
import { documentWith, jsonResponse, neverAnswers, scriptedSend } from '../scripted-send.ts';
import type { ScriptedSend } from '../scripted-send.ts';

const documentUrl = 'http://127.0.0.1:9001/openapi.json';
const never = new AbortController().signal;
const opened: RegisteredServers[] = [];

function serversWith(script: ScriptedSend, now: () => number = () => 0): RegisteredServers {
  const servers = createRegisteredServers({ send: script.send, now });
  opened.push(servers);
  return servers;
}

afterEach(() => {
  for (const servers of opened.splice(0)) servers.close();
});

const namesOf = (opening: Opening): string[] =>
  opening.type === 'opened' ? opening.server.functions.map((operation) => operation.spec.name) : [opening.type];

async function openWith(record: Partial<ToolServerRecord>, document = documentWith('now', 'web_search', 'search')): Promise<Opening> {
  return serversWith(scriptedSend({ [documentUrl]: document })).open(toolServerRecord(record), never);
}

describe('opening a registered server', () => {
  it('loads its document once for all who ask at the same time, and keeps it', async () => {
    const script = scriptedSend({ [documentUrl]: documentWith('now') });
    const servers = serversWith(script);
    const record = toolServerRecord();
    expect(servers.stateOf(record)).toBeUndefined();
    const openings = await Promise.all([servers.open(record, never), servers.open(record, never)]);
    expect(openings.map(namesOf)).toEqual([['now'], ['now']]);
    expect(namesOf(await servers.open(toolServerRecord(), never))).toEqual(['now']);
    expect(script.requests).toHaveLength(1);
    expect(servers.stateOf(record)).toBe(openings[0]);
  });

  it('counts what changes what chats are offered, and no look at an unchanged document', async () => {
    const script = scriptedSend({ [documentUrl]: documentWith('now') });
    const servers = serversWith(script);
    const record = toolServerRecord();
    const revisions = [servers.revision()];
    const note = (): void => void revisions.push(servers.revision());
    await servers.open(record, never);
    note();
    const unchanged = revisions.at(-1);
    await servers.renew(record, never);
    expect(script.requests).toHaveLength(2);
    expect(servers.revision()).toBe(unchanged);
    script.answers.delete(documentUrl);
    await servers.renew(record, never);
    expect(servers.failuresOf(record)?.count).toBe(1);
    expect(servers.revision()).toBe(unchanged);
    script.answers.set(documentUrl, documentWith('later'));
    await servers.renew(record, never);
    note();
    servers.keepOnly(new Set());
    note();
    expect(new Set(revisions).size).toBe(revisions.length);
  });

  it('loads anew when the record was changed, and on request', async () => {
    const script = scriptedSend({ [documentUrl]: documentWith('now') });
    const servers = serversWith(script);
    await servers.open(toolServerRecord(), never);
    expect(servers.stateOf(toolServerRecord({ key: 'new' }))).toBeUndefined();
    await servers.open(toolServerRecord({ key: 'new' }), never);
    expect(script.requests).toHaveLength(2);
    script.answers.set(documentUrl, documentWith('later'));
    expect(namesOf(await servers.refresh(toolServerRecord({ key: 'new' }), never))).toEqual(['later']);
    expect(namesOf(await servers.open(toolServerRecord({ key: 'new' }), never))).toEqual(['later']);
    expect(script.requests).toHaveLength(3);
  });

  describe('that takes long', () => {
    function slowServers() {
      vi.useFakeTimers();
      onTestFinished(() => void vi.useRealTimers());
      const loads: PromiseWithResolvers<Opening>[] = [];
      const openMcp = (): Promise<Opening> => {
        loads.push(Promise.withResolvers());
        return loads.at(-1)?.promise ?? Promise.reject(new Error('none'));
      };
      const servers = createRegisteredServers({ send: scriptedSend({}).send, openMcp, now: Date.now });
      opened.push(servers);
      const record = toolServerRecord({ type: 'mcp' });
      const openWithin = async (ms: number, isNeeded = false): Promise<Opening | 'waits'> => {
        const opening = servers.open(record, never, isNeeded);
        await vi.advanceTimersByTimeAsync(ms);
        return Promise.race([opening, Promise.resolve('waits' as const)]);
      };
      return { loads, servers, record, openWithin };
    }
    const stillOpening = { type: 'unreachable', reason: expect.stringContaining('still being opened'), cause: 'opening' };

    it('holds up the first chat for a moment and later ones not at all, and joins them when it is there', async () => {
      const { loads, servers, record, openWithin } = slowServers();
      const first = servers.open(record, never);
      expect(servers.isSlow(record)).toBe(false);
      await vi.advanceTimersByTimeAsync(serverPatienceMs);
      expect(await first).toEqual(stillOpening);
      expect(servers.isSlow(record)).toBe(true);
      expect(await openWithin(0)).toEqual(stillOpening);
      expect(loads).toHaveLength(1);
      loads[0]?.resolve({ type: 'unsupported', reason: 'there' });
      expect(await openWithin(0)).toEqual({ type: 'unsupported', reason: 'there' });
      expect(servers.isSlow(record)).toBe(false);
    });

    it('is waited for by whoever names it, as long as a document may take', async () => {
      const { loads, openWithin } = slowServers();
      expect(await openWithin(limits.documentTimeoutMs, true)).toBe('waits');
      expect(await openWithin(serverPatienceMs)).toEqual(stillOpening);
      expect(await openWithin(limits.documentTimeoutMs, true)).toBe('waits');
      expect(loads).toHaveLength(1);
    });

    it('and has failed is opened again beside the chat, which waits for a second', async () => {
      const { loads, openWithin } = slowServers();
      await openWithin(serverPatienceMs);
      loads[0]?.resolve({ type: 'unreachable', reason: 'hung', cause: 'failed' });
      await vi.advanceTimersByTimeAsync(failureMemoryMs);
      expect(await openWithin(1_000)).toEqual({ type: 'unreachable', reason: 'hung', cause: 'opening' });
      expect(loads).toHaveLength(2);
    });
  });

  it('opens few servers at a time, and one that is named before others that hang', async () => {
    const loads: string[] = [];
    const hanging = Promise.withResolvers<Opening>();
    const openMcp = (record: ToolServerRecord): Promise<Opening> => {
      loads.push(record.id);
      return record.id === 'named' ? Promise.resolve({ type: 'unsupported', reason: 'there' }) : hanging.promise;
    };
    const servers = createRegisteredServers({ send: scriptedSend({}).send, openMcp, now: () => 0 });
    opened.push(servers);
    const named = toolServerRecord({ id: 'named', type: 'mcp' });
    const others = Array.from({ length: 200 }, (_, index) => toolServerRecord({ id: `s${index}`, type: 'mcp' }));
    const openings = others.map((record) => servers.renew(record, never));
    const waiting = servers.renew(named, never);
    await Promise.resolve();
    expect(loads).toEqual(others.slice(0, serversOpenedAtOnce).map(({ id }) => id));
    expect(await servers.open(named, never, true)).toEqual({ type: 'unsupported', reason: 'there' });
    expect(await waiting).toEqual({ type: 'unsupported', reason: 'there' });
    expect(loads).toHaveLength(serversOpenedAtOnce + 1);
    hanging.resolve({ type: 'unreachable', reason: 'hung', cause: 'failed' });
    await Promise.all(openings);
    expect(loads).toHaveLength(others.length + 1);
  });

  it('lets one who waits leave without taking the document from the others', async () => {
    const answer = Promise.withResolvers<void>();
    const script = scriptedSend({ [documentUrl]: () => answer.promise.then(() => jsonResponse(documentWith('now'))) });
    const servers = serversWith(script);
    const leaver = new AbortController();
    const left = servers.open(toolServerRecord(), leaver.signal);
    const stayed = servers.open(toolServerRecord(), never);
    leaver.abort(new Error('gone'));
    await expect(left).rejects.toThrow('gone');
    answer.resolve();
    expect(namesOf(await stayed)).toEqual(['now']);
    expect(script.requests).toHaveLength(1);
  });

  it('leaves a server that failed alone for ten seconds, then tries again', async () => {
    let time = 1_000;
    const script = scriptedSend({ [documentUrl]: new OutboundError('unreachable', 'connect ECONNREFUSED') });
    const servers = serversWith(script, () => time);
    expect(await servers.open(toolServerRecord(), never)).toEqual({
      type: 'unreachable',
      reason: expect.stringContaining('ECONNREFUSED'),
      cause: 'failed',
    });
    script.answers.set(documentUrl, documentWith('now'));
    time += failureMemoryMs - 1;
    expect((await servers.open(toolServerRecord(), never)).type).toBe('unreachable');
    expect(script.requests).toHaveLength(1);
    time += 1;
    expect(namesOf(await servers.open(toolServerRecord(), never))).toEqual(['now']);
  });

  it('gives whoever waits the newer answer when a refresh overtakes a slow load', async () => {
    const slow = Promise.withResolvers<void>();
    const script = scriptedSend({ [documentUrl]: () => slow.promise.then(() => jsonResponse(documentWith('old'))) });
    const servers = serversWith(script);
    const waiting = servers.open(toolServerRecord(), never);
    script.answers.set(documentUrl, documentWith('new'));
    await servers.refresh(toolServerRecord(), never);
    slow.resolve();
    await waiting;
    expect(namesOf(await servers.open(toolServerRecord(), never))).toEqual(['new']);
  });

  it.each([
    ['an answer that is no document', { hello: 'world' }],
    ['a refusal', () => Promise.resolve(jsonResponse({ error: 'no' }, 500))],
    ['a failure on the way', new OutboundError('cut', 'cut')],
  ])('takes %s for unreachable', async (_case, answer) => {
    const servers = serversWith(scriptedSend({ [documentUrl]: answer }));
    expect((await servers.open(toolServerRecord(), never)).type).toBe('unreachable');
  });

  it('ends with the gateway', async () => {
    const servers = serversWith(scriptedSend({ [documentUrl]: neverAnswers }));
    const waiting = servers.open(toolServerRecord(), never);
    servers.close();
    expect((await waiting).type).toBe('unreachable');
  });

  it('forgets what is no longer registered', async () => {
    const servers = serversWith(scriptedSend({ [documentUrl]: documentWith('now') }));
    await servers.open(toolServerRecord(), never);
    servers.keepOnly(new Set());
    expect(servers.stateOf(toolServerRecord())).toBeUndefined();
  });

  it.each([
    ['an object', documentWith('inline')],
    ['JSON text', JSON.stringify(documentWith('inline'))],
    [
      'YAML text',
      'openapi: 3.1.0\ninfo: {title: t, version: "1"}\npaths: {/i: {get: {operationId: inline, responses: {"200": {description: ok}}}}}',
    ],
  ])('reads its own document from %s without asking the server', async (_case, spec) => {
    const script = scriptedSend();
    expect(namesOf(await serversWith(script).open(toolServerRecord({ spec }), never))).toEqual(['inline']);
    expect(script.requests).toEqual([]);
  });

  it.each<[Partial<ToolServerRecord>, RegExp]>([
    [{ type: 'mcp' }, /MCP/],
    [{ extra: { config: { execution: 'browser' } } }, /browser/],
  ])('says why it leaves %j out', async (record, reason) => {
    expect(await openWith(record)).toEqual({ type: 'unsupported', reason: expect.stringMatching(reason) });
  });
});

describe('the filter of functions', () => {
  it.each<[string[], string[]]>([
    [[], ['now', 'web_search', 'search']],
    [['search'], ['search']],
    [['!search'], ['now', 'web_search']],
    [['search', 'now', '!now'], ['search']],
    [['!gone'], ['now', 'web_search', 'search']],
    [['gone'], []],
  ])('%j lets %j through', async (functionFilter, names) => {
    expect(namesOf(await openWith({ functionFilter }))).toEqual(names);
  });

  it("goes by the document's own name too", async () => {
    expect(namesOf(await openWith({ functionFilter: ['get now'] }, documentWith('get now', 'other')))).toEqual(['get_now']);
  });
});

describe('what is sent to a registered server', () => {
  const record = toolServerRecord({ authType: 'bearer', key: 'k', headers: { 'X-Chat': '{{CHAT_ID}}' } });

  it('carries its credential and headers when its document is fetched, and may go to its origin only', async () => {
    const script = scriptedSend({ [documentUrl]: documentWith('now') });
    await serversWith(script).open(record, never);
    expect(script.requests[0]).toMatchObject({ url: documentUrl, headers: { authorization: 'Bearer k', 'x-chat': '' } });
    expect(script.requests[0]?.trust).toEqual({ kind: 'configured', origin: 'http://127.0.0.1:9001' });
  });

  it('carries nothing of it when the document lies on another host', async () => {
    const script = scriptedSend({ 'https://docs.test/d.json': documentWith('now') });
    await serversWith(script).open({ ...record, path: 'https://docs.test/d.json' }, never);
    expect(JSON.stringify(script.requests[0]?.headers)).not.toMatch(/Bearer|x-chat/i);
    expect(script.requests[0]?.trust).toEqual({ kind: 'configured', origin: 'https://docs.test' });
  });

  it('carries them, with the ids of the run, in a call', async () => {
    const script = scriptedSend({ [documentUrl]: documentWith('now'), 'http://127.0.0.1:9001/now': { time: '12:00' } });
    const opening = await serversWith(script).open({ ...record, timeoutMs: 5_000, maxResultBytes: 10_000 }, never);
    if (opening.type !== 'opened') throw new Error('The server was not opened.');
    const [operation] = opening.server.functions;
    if (operation === undefined) throw new Error('There is no function.');
    const tool = opening.server.createTool(operation, 'now_2');
    expect(tool).toMatchObject({
      spec: { name: 'now_2' },
      label: 'time/now',
      server: 'time',
      kind: 'openapi',
      timeoutMs: 5_000,
      maxResultBytes: 10_000,
    });
    const run = runContext({ chatId: 'c-1' });
    const outcome = await tool.run({ callId: 'call', args: { city: 'Tokyo' }, run, signal: run.signal, timeoutMs: 1_000 });
    expect(outcome).toEqual({ type: 'result', value: { time: '12:00' } });
    expect(script.requests[1]).toMatchObject({
      url: 'http://127.0.0.1:9001/now?city=Tokyo',
      headers: { authorization: 'Bearer k', 'x-chat': 'c-1' },
    });
    expect(script.requests[1]?.trust).toEqual({ kind: 'configured', origin: 'http://127.0.0.1:9001' });
  });
});
