import { afterEach, describe, expect, it } from 'vitest';
import type { ChatRequest } from '../../../src/core/chat/chat.ts';
import { OutboundError } from '../../../src/core/errors.ts';
import type { ToolServerRecord } from '../../../src/core/stores/registry.ts';
import type { RunContext } from '../../../src/core/runs/run.ts';
import type { ToolOffer } from '../../../src/core/tools/tool.ts';
import { connectedTools } from '../../_support/connected-tools.ts';
import { leftOutWarning } from '../../../src/tools/definitions/tool-source.ts';
import type { Tools } from '../../../src/app/compose/compose-tools.ts';
import { chatRequest, runContext } from '../../_support/tools.ts';
import { toolServerRecord } from '../../storage/registry-contract.ts';
import { documentWith, jsonResponse, scriptedSend } from '../scripted-send.ts';
import type { ScriptedSend } from '../scripted-send.ts';
import { chosenFunctions } from '../../../src/tools/catalog/offer-tools.ts';

const time = toolServerRecord({ id: 'time', url: 'http://time.test' });
const maps = toolServerRecord({ id: 'maps', url: 'http://maps.test' });
const extra = toolServerRecord({ id: 'extra', url: 'http://extra.test', isDefault: false });
const off = toolServerRecord({ id: 'off', url: 'http://off.test', isEnabled: false });
const github = toolServerRecord({ id: 'github', url: 'http://mcp.test', type: 'mcp' });

const documents = (): ScriptedSend =>
  scriptedSend({
    'http://time.test/openapi.json': documentWith('now', 'zone'),
    'http://maps.test/openapi.json': documentWith('route', 'zone'),
    'http://extra.test/openapi.json': documentWith('more'),
    'http://off.test/openapi.json': documentWith('never'),
  });

const opened: Tools[] = [];
afterEach(async () => {
  for (const tools of opened.splice(0)) await tools.close();
});

const stopped = { now: () => 0, elapsed: () => 0 };

function toolsOf(records: ToolServerRecord[], script: ScriptedSend = documents(), clocks = stopped): Tools {
  const tools = connectedTools({ records, send: script.send, ...clocks });
  opened.push(tools);
  return tools;
}

async function offer(records: ToolServerRecord[], request: Partial<ChatRequest> = {}, run: Partial<RunContext> = {}): Promise<ToolOffer> {
  return toolsOf(records).catalog.offerFor(chatRequest(request), runContext(run));
}

const labels = ({ tools }: ToolOffer): string[] => [...tools.values()].map((tool) => tool.label);

describe('what a request is offered', () => {
  it('is every enabled default when it names nothing', async () => {
    const given = await offer([time, extra, off]);
    expect(labels(given)).toEqual(['time/now', 'time/zone']);
    expect([...given.tools.keys()]).toEqual(['now', 'zone']);
    expect(given.warnings).toEqual([]);
  });

  it.each<[string[], string[]]>([
    [[], []],
    [['server:extra'], ['extra/more']],
    [
      ['server:extra', 'server:time'],
      ['extra/more', 'time/now', 'time/zone'],
    ],
    [['server:time/zone'], ['time/zone']],
    [
      ['server:time/zone', 'server:time'],
      ['time/now', 'time/zone'],
    ],
    [
      ['server:time', 'server:time/zone', 'server:time'],
      ['time/now', 'time/zone'],
    ],
    [['server:openapi:time/now'], ['time/now']],
  ])('is, with tool_ids %j, %j', async (toolIds, expected) => {
    expect(labels(await offer([time, extra], { toolIds }))).toEqual(expected);
  });

  it.each<[string, RegExp]>([
    ['server:nope', /"server:nope" is not known\. Known are: server:time, server:mcp:github\./],
    ['server:0', /is not known/],
    ['server:mcp:time', /is not known/],
    ['server:time/nope', /"server:time\/nope" is not known\. Known are: server:time\/now, server:time\/zone\./],
    ['server:constructor', /is not known/],
    ['time', /is not known/],
    ['toolset:a', /is not known/],
    ['function:a', /is not known/],
    ['preset:a', /is not known/],
  ])('is an error with the unknown id %s', async (toolId, message) => {
    await expect(offer([time, github], { toolIds: [toolId] })).rejects.toMatchObject({
      code: 'unknown_tool_id',
      status: 400,
      param: 'tool_ids',
      message: expect.stringMatching(message),
    });
  });

  it('keeps the servers of the request whatever tool_ids say', async () => {
    const toolServers = [{ url: 'http://own.test', openapi: documentWith('mine'), authType: 'none', headers: {} } as const];
    expect(labels(await offer([time], { toolIds: [], toolServers }))).toEqual(['mine']);
    expect(labels(await offer([time], { toolServers }))).toEqual(['time/now', 'time/zone', 'mine']);
  });

  it('is nothing for a hidden task of a frontend', async () => {
    const script = documents();
    const given = await toolsOf([time], script).catalog.offerFor(chatRequest({ purpose: 'task' }), runContext());
    expect(given).toEqual({ tools: new Map(), warnings: [] });
    expect(script.requests).toEqual([]);
  });
});

describe('a registered server that cannot serve', () => {
  it('is left out with a warning, and the others stay [S4-40]', async () => {
    const script = documents();
    script.answers.set('http://maps.test/openapi.json', new OutboundError('unreachable', 'connect ECONNREFUSED 10.0.0.1'));
    const given = await toolsOf([time, maps], script).catalog.offerFor(chatRequest(), runContext());
    expect(labels(given)).toEqual(['time/now', 'time/zone']);
    expect(given.warnings).toEqual([
      { code: 'tool_server_unreachable', message: expect.stringMatching(/"maps" is left out: .*10\.0\.0\.1/) },
    ]);
  });

  it.each([
    ['it is switched off', 'it is switched off.'],
    ['It is switched off.', 'It is switched off.'],
    ['Nothing listens. Is the port right?', 'Nothing listens. Is the port right?'],
  ])('is said in whole sentences: %s', (reason, said) => {
    expect(leftOutWarning('x', 'The tool server "maps"', reason).message).toBe(`The tool server "maps" is left out: ${said}`);
  });

  it('is named to users without its address', async () => {
    const script = scriptedSend({ 'http://time.test/openapi.json': new OutboundError('unreachable', 'connect ECONNREFUSED 10.0.0.1') });
    const run = runContext({ caller: { id: 'u', role: 'user', isOpen: false } });
    const { warnings } = await toolsOf([time], script).catalog.offerFor(chatRequest(), run);
    expect(warnings).toEqual([{ code: 'tool_server_unreachable', message: 'The tool server "time" is left out: it cannot be reached.' }]);
  });

  it.each([
    [off, 'server:off', 'tool_server_disabled'],
    [github, 'server:mcp:github', 'mcp_unavailable'],
  ])('is known by its id all the same', async (record, toolId, code) => {
    const given = await offer([record], { toolIds: [toolId] });
    expect(given.tools.size).toBe(0);
    expect(given.warnings).toMatchObject([{ code }]);
  });
});

describe('names', () => {
  it('are unique over everything, the later function renamed and its label kept [S4-17]', async () => {
    const toolServers = [{ url: 'http://own.test', openapi: documentWith('now'), authType: 'none', headers: {} } as const];
    const given = await offer([time, maps], { toolServers });
    const names = [...given.tools.keys()];
    expect(new Set(names).size).toBe(5);
    expect(names.filter((name) => !/^(?:now|zone)_/.test(name))).toEqual(['now', 'route', 'zone']);
    expect(given.tools.get('now')?.label).toBe('time/now');
    expect(labels(given).at(-1)).toBe('now');
    expect(given.warnings.map(({ code }) => code)).toContain('function_renamed');
    for (const [name, tool] of given.tools) expect(tool.spec.name).toBe(name);
  });

  it('that clash in every function of a server are one warning', async () => {
    const functions = Array.from({ length: 15 }, (_, index) => `f${index}`);
    const script = scriptedSend({
      'http://time.test/openapi.json': documentWith(...functions),
      'http://maps.test/openapi.json': documentWith(...functions),
    });
    const { tools, warnings } = await toolsOf([time, maps], script).catalog.offerFor(chatRequest(), runContext());
    expect(tools.size).toBe(30);
    expect(warnings).toEqual([
      { code: 'function_renamed', message: expect.stringMatching(/^15 functions of (?:maps|time) .*"f0" as "f0_.* and 10 more/) },
    ]);
  });

  it("of the caller's own tools stay", async () => {
    const given = await offer([time], { callerFunctions: [{ name: 'now', wire: {} }] });
    expect([...given.tools.keys()]).not.toContain('now');
    expect(labels(given)).toEqual(['time/now', 'time/zone']);
    expect(given.warnings).toEqual([
      { code: 'function_renamed', message: expect.stringMatching(/^The function "now" of time is offered as "now_/) },
    ]);
  });
});

describe('a hundred functions and more', () => {
  const many = Array.from({ length: 130 }, (_, index) => `f${index}`);
  const script = scriptedSend({ 'http://time.test/openapi.json': documentWith(...many) });

  it('are cut to what a model can hold, with a word about how to choose', async () => {
    const { tools, warnings } = await toolsOf([time], script).catalog.offerFor(chatRequest(), runContext());
    expect(tools.size).toBe(chosenFunctions);
    expect(warnings).toEqual([
      { code: 'functions_left_out', message: expect.stringMatching(/^40 of 130 functions are offered.*tool_ids/) },
    ]);
  });

  it("leave room for the caller's own", async () => {
    const callerFunctions = Array.from({ length: 100 }, (_, index) => ({ name: `own${index}`, wire: {} }));
    const { tools } = await toolsOf([time], script).catalog.offerFor(chatRequest({ callerFunctions }), runContext());
    expect(tools.size).toBe(27);
  });
});

describe('the list of tools', () => {
  it('has every function of every enabled server, defaults or not, under unique names', async () => {
    const listed = await toolsOf([time, extra, off, github]).catalog.list(
      { id: 'u', role: 'user', isOpen: false },
      new AbortController().signal,
    );
    expect(listed.map(({ id, name, server, kind }) => ({ id, name, server, kind }))).toEqual([
      { id: 'time/now', name: 'now', server: 'time', kind: 'openapi' },
      { id: 'time/zone', name: 'zone', server: 'time', kind: 'openapi' },
      { id: 'extra/more', name: 'more', server: 'extra', kind: 'openapi' },
    ]);
    expect(listed[0]).toMatchObject({ description: 'Does now', parameters: { type: 'object' } });
  });
});

describe('a server that failed', () => {
  it('is tried again after its delay, also when the clock was set back meanwhile', async () => {
    const script = documents();
    script.answers.set('http://time.test/openapi.json', async () => jsonResponse({ error: 'broken' }, 500));
    const clock = { time: Date.parse('2030-05-01T10:00:00Z'), elapsed: 0 };
    const tools = toolsOf([time], script, { now: () => clock.time, elapsed: () => clock.elapsed });
    const list = () => tools.catalog.list({ id: 'a', role: 'admin', isOpen: false }, new AbortController().signal);
    expect(await list()).toEqual([]);
    script.answers.set('http://time.test/openapi.json', async () => jsonResponse(documentWith('now')));
    clock.time -= 2 * 60 * 60 * 1_000;
    clock.elapsed += 11_000;
    expect((await list()).map(({ name }) => name)).toEqual(['now']);
  });
});

describe('the state of the servers', () => {
  it('is known without asking them, and start asks the enabled ones', async () => {
    const script = documents();
    const asked = Promise.withResolvers<void>();
    script.answers.set('http://maps.test/openapi.json', async () => {
      asked.resolve();
      return jsonResponse({ error: 'broken' }, 500);
    });
    const tools = toolsOf([time, maps, off, github], script);
    expect((await tools.servers.states()).map(({ state }) => state)).toEqual(['not_loaded', 'not_loaded', 'not_loaded', 'not_loaded']);
    tools.start();
    await asked.promise;
    await tools.catalog.list({ id: 'a', role: 'admin', isOpen: false }, new AbortController().signal);
    expect(await tools.servers.states()).toEqual([
      { id: 'time', state: 'ok', functions: 2 },
      { id: 'maps', state: 'unreachable', functions: 0, error: expect.any(String) },
      { id: 'off', state: 'not_loaded', functions: 0 },
      { id: 'github', state: 'unreachable', functions: 0, error: expect.stringContaining('MCP') },
    ]);
    const documentUrls = script.requests.map((request) => request.url).filter((url) => url.endsWith('openapi.json'));
    expect(documentUrls).toEqual(['http://time.test/openapi.json', 'http://maps.test/openapi.json']);
  });

  it('survives an end amid the start', async () => {
    const tools = toolsOf([time]);
    tools.start();
    await expect(tools.close()).resolves.toBeUndefined();
  });
});

describe('the bundled server', () => {
  it('gives way to a server of the request with the same functions, unless it was asked for', async () => {
    const bundled = { ...time, origin: 'bundled' as const };
    const given = await offer([bundled], {
      toolServers: [{ url: 'http://own.test', openapi: documentWith('now'), authType: 'none', headers: {} }],
    });
    expect([...given.tools].map(([name, tool]) => [name, tool.label])).toEqual([
      ['now', 'now'],
      ['zone', 'time/zone'],
    ]);
    const asked = await offer([bundled], {
      toolIds: ['server:time'],
      toolServers: [{ url: 'http://own.test', openapi: documentWith('now'), authType: 'none', headers: {} }],
    });
    expect(labels(asked)).toEqual(['time/now', 'time/zone', 'now']);
  });
});
